create or replace view service_state as
select s.api, nullif(s.endpoint, '') as endpoint, s.status, s.since, s.checked_at
from service_status s;
comment on view service_state is
  'How the service says it is. While it reports a major_outage of task_post nothing is posted.';
comment on column service_state.since is 'Since when, as far as we saw.';
