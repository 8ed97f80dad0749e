-- A number is never given to another endpoint: it stands in `task.endpoint` of what was posted.
--- The number of a function of the service in a store: each has a list of ready results of its own.
create or replace function endpoint_of(store text, function text) returns smallint
  language sql immutable parallel safe
return case store
  when 'ios_store' then case function when 'app_searches' then 1 when 'app_info' then 2 when 'app_reviews'
    then 3
    when 'app_list' then 7 end
  when 'android_store' then case function when 'app_searches' then 4 when 'app_info' then 5 when 'app_list'
    then 6
    when 'app_reviews' then 8 end
end;
