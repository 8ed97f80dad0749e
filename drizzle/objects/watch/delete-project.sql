-- In pieces with a commit between, one target each, so that no lock is held for long and a call that was
-- broken off may be made again. It commits, so it cannot pin its search path: every name says its schema.
--- Deletes a project with its watches, its notes and alerts, and the history that no other project asked for.
--- Its money stays: in the charges under project.id, and in all sums over all projects. For the owner of the
--- database, outside of a transaction; it may be called again after it was broken off.
create or replace procedure delete_project(in_project text) language plpgsql as $$
declare
  of_id integer := (select p.id from public.project p where p.name = in_project);
  under_way bigint;
  one integer;
begin
  if of_id is null then
    raise no_data_found using message = format('There is no project "%s".', in_project)
      || coalesce(' Did you mean "' || public.nearest_name(in_project,
        array(select p.name from public.project p order by p.name)) || '"?', ''),
      hint = 'The table project has them all.';
  end if;
  update public.project p set enabled = false where p.id = of_id and p.enabled;
  delete from public.keyword_watch w where w.project = in_project;
  delete from public.chart_watch w where w.project = in_project;
  delete from public.app_watch w where w.project = in_project;
  commit;

  select count(*) into under_way
  from (select payers from public.reserving_task union all select payers from public.task
    where attempt > 0 and state = 'posted') k
  where of_id = any (k.payers);
  if under_way > 0 then
    raise object_in_use using
      message = format(
        'The project "%s" is disabled and its watches are deleted, but %s of its measurements are under '
        'way.',
        in_project, under_way),
      hint = format(
        'Call it again when they are in, which `storerank run` waits for: call delete_project(%L);',
        in_project);
  end if;

  for one in
    select distinct p.target_id from public.watch_period p
    where p.project = in_project and p.target_id is not null
      and not exists (select from public.watch_period o where o.target_id = p.target_id
        and o.project <> in_project)
  loop
    delete from public.period_change c using public.watch_period p where c.period_id = p.id
      and p.target_id = one;
    delete from public.watch_period p where p.target_id = one and p.project = in_project;
    delete from public.ranking r where r.target_id = one;
    delete from public.app_snapshot s where s.target_id = one;
    delete from public.page g where g.target_id = one;
    delete from public.due_slot d where d.target_id = one;
    delete from public.rejected_result r where r.target_id = one;
    commit;
  end loop;

  for one in
    select distinct p.app from public.watch_period p
    where p.project = in_project and p.app is not null
      and not exists (select from public.watch_period o where o.app = p.app and o.project <> in_project)
  loop
    delete from public.review r where r.app = one;
    commit;
  end loop;

  delete from public.watch_period p where p.project = in_project;
  delete from public.annotation a where a.project = in_project;
  delete from public.imported_rank i where i.project = in_project;
  delete from public.alert_message m where m.project_id = of_id;
  delete from public.alert_rule r where r.project = in_project;
  delete from public.project p where p.id = of_id;
  commit;
end $$;
