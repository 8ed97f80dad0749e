-- What is stored is noted for the rules of its projects in the same transaction, so that a crash of the runner loses none and repeats none.
-- Statement triggers of the partitioned tables: one look at the rules for a batch of any size.
create or replace function note_alert_due() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from alert_rule r where r.enabled) then
    insert into alert_due (project_id, slot, target_id)
    select distinct j.id, s.slot, s.target_id
    from stored s
    join watch_period p on p.target_id = s.target_id
      and is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, s.slot, s.gap)
    join project j on j.name = p.project
    where exists (select from alert_rule r where r.project = p.project and r.enabled)
    order by 1, 2, 3
    on conflict do nothing;
  end if;
  return null;
end $$;
comment on function note_alert_due() is 'Notes what was stored for the rules of its projects.';
revoke execute on function note_alert_due() from public;

create or replace trigger note_inserted after insert on ranking
referencing new table as stored for each statement execute function note_alert_due();

create or replace trigger note_updated after update on ranking
referencing new table as stored for each statement execute function note_alert_due();

create or replace trigger note_inserted after insert on app_snapshot
referencing new table as stored for each statement execute function note_alert_due();

create or replace trigger note_updated after update on app_snapshot
referencing new table as stored for each statement execute function note_alert_due();
