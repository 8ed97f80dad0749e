--- How the service says it is. While it reports a major_outage of task_post nothing is posted.
--- .since: Since when, as far as we saw.
create or replace view service_state as
select s.api, nullif(s.endpoint, '') as endpoint, s.status, s.since, s.checked_at
from service_status s;
