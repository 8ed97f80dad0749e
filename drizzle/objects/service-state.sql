create or replace view service_state as
select s.api, nullif(s.endpoint, '') as endpoint, s.status, s.since, s.checked_at
from service_status s;
comment on view service_state is
  'How the service says it is. While it reports a major_outage of task_post nothing is posted.';
comment on column service_state.api is 'app_data, or appendix, which tells of the account and of errors.';
comment on column service_state.endpoint is 'What of it, such as task_post or task_get; null: as a whole.';
comment on column service_state.status is 'ok, or what is wrong, in the words of the service.';
comment on column service_state.since is 'Since when, as far as we saw.';
comment on column service_state.checked_at is 'When it was asked last.';
grant select on service_state to storerank_editor, storerank_reader;
