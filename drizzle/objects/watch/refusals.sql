-- What a person reads when a row is refused: for each rule what was given and what is allowed, and what to
-- do. `refuse` raises it from the CHECK of the name, and from the triggers of watches.sql.

-- Values come as JSON, in which no control character can act on a terminal.
create or replace function shown_value(value jsonb) returns text language sql immutable parallel safe
return regexp_replace(
  case when char_length(value::text) > 80 then left(value::text, 70) || '…' || case jsonb_typeof(value)
    when 'string' then '"' else '' end
    else coalesce(value::text, 'null') end,
  '[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]', '�', 'g');
comment on function shown_value(jsonb) is
  'A value as a message shows it: quoted when it is a text, and of bounded length.';

-- What was most likely meant by a value that a rule refuses; null when there is no telling. The collation
-- "C", because that of the database may be Turkish, where I is not the capital of i.
create or replace function meant_value(rule text, given text) returns text
language sql stable parallel safe
return case rule
  when 'store_known' then case
    when given collate "C" ~* '(ios|apple|^app)' then 'ios_store'
    when given collate "C" ~* '(android|google|play)' then 'android_store' end
  when 'language_code_form' then nearest_language(given)
  when 'app_id_form_by_store' then coalesce(
    substring(given from '(?:^|/)id([0-9]{3,19})(?:[?/#]|$)'),
    substring(given from '[?&]id=([A-Za-z][A-Za-z0-9_]*(?:[.][A-Za-z0-9_]+)+)'))
  when 'role_own_or_competitor' then case
    when given collate "C" ~* '^(own|our|mine|my|me$)' then 'own'
    when given collate "C" ~* '^(comp|rival|other|their)' then 'competitor' end
  when 'timezone_known' then coalesce((
    select n.name from pg_timezone_names n where lower(n.name) like '%/' || lower(given)
      and n.name !~ '^(posix|right)/' order by n.name limit 1
  ), nearest_name(given, array(
    select n.name from pg_timezone_names n where n.name ~ '/' and n.name !~ '^(posix|right|Etc)/'
      order by n.name)))
end;
comment on function meant_value(text, text) is
  'What was most likely meant by a value that a rule refuses; null when there is no telling.';

-- %1$s and so on are the values that were given, in the order in which the rule names them. What is missing,
-- and what has control characters in it, is told by the name of the rule: `refusal_of`.
create or replace function refusals_of_what_is_missing()
returns table (rule text, sentence text, remedy text) language sql immutable parallel safe
begin atomic
  values
    ('project_missing', null,
      'Each row belongs to a project, under any name of yours; the first watch that names it makes it.'),
    ('store_missing', null, 'It is ios_store or android_store.'),
    ('keyword_missing', null, 'It is what people type into the search of the store.'),
    ('app_id_missing', null,
      'It is a number such as 1480010017 in the ios_store, and a name such as com.acme.yoga in the '
      'android_store.'),
    ('collection_missing', null,
      'It is the name of a chart, such as top_free_ios in the ios_store and topselling_free in the '
      'android_store.'),
    ('location_name_missing', null,
      'For example United States; location_code does as well. The table location has them all.'),
    ('language_code_missing', null, 'For example en. The table language has them all.'),
    ('name_missing', null, 'It is a name of yours, of 1 to 100 characters.'),
    ('kind_missing', null,
      'A rule is of a kind of the view alert_kind; a channel is a webhook, slack, teams, discord or email.');
end;
comment on function refusals_of_what_is_missing() is
  'What is said of a value that is left out: its sentence follows from the name of the rule.';

create or replace function refusals_of_watches()
returns table (rule text, sentence text, remedy text) language sql immutable parallel safe
begin atomic
  values
    ('store_known', 'There is no store %1$s.', 'store is ios_store or android_store.'),
    ('location_code_positive', 'location_code is %1$s, and a code is a whole number from 1 to 2147483647.',
      'The table location has them all: select code, name from location.'),
    ('location_name_1_to_200', 'location_name has %2$s characters, and may have 1 to 200.',
      'The table location has them all: select code, name from location.'),
    ('location_country_supported',
      'The service does not measure in Russia and Belarus, and the location is %1$s.',
      'Choose another location, or take the row out.'),
    ('at_most_one_location',
      'location_code is %1$s and location_name is %2$s, and only one of them may be given.',
      'Take out one of them.'),
    ('language_code_form', 'language_code is %1$s, and a code is written like en or pt-BR.',
      'The table language has them all: select code, name from language.'),
    ('priority_1_or_2', 'priority is %1$s, and may be 1, or 2 for twice the price.', 'Leave it out for 1.'),
    ('every_1_2_3_4_6_8_12_hours_or_1_to_31_days',
      'every is %1$s, and may be 1, 2, 3, 4, 6, 8 or 12 hours, or 1 to 31 whole days.',
      'Leave it out for 1 day; a week is 7 days.'),
    ('tags_at_most_50', 'There are %1$s tags, and at most 50 are allowed.', 'Take some out.'),
    ('tags_of_1_to_100_characters', 'tags is %1$s, and each tag must have 1 to 100 characters.',
      'Take out what is empty or longer.'),
    ('tags_without_control_characters', null, 'Write each without.'),
    ('note_at_most_10000_characters', 'note has %2$s characters, and may have 10000.', 'Shorten it.'),
    ('note_without_control_characters', 'note is %1$s, with a control character in it.',
      'Line breaks and tabs are allowed, and no others.'),
    ('html_only_of_android_store',
      'html is true, and raw pages are had of the android_store alone, not of %1$s.',
      'Leave html out.');
end;
comment on function refusals_of_watches() is
  'What is said of a value that every watch may have.';

create or replace function refusals_of_subjects()
returns table (rule text, sentence text, remedy text) language sql immutable parallel safe
begin atomic
  values
    ('keyword_1_to_700_as_posted',
      'keyword is %1$s, which is sent as %2$s characters, and may have 1 to 700.',
      'As it is sent, each % and each + counts three.'),
    ('keyword_without_control_characters',
      'keyword is %1$s, with a line break, a tab or another control character in it.',
      'One row is one keyword: write several as several rows.'),
    ('depth_1_to_maximum_of_function',
      'depth is %1$s, and may be 1 to 700 in the ios_store, and 1 to 200 in the android_store.',
      'Leave it out for 100, or 30 in the android_store. It is what costs.'),
    ('depth_1_to_maximum_of_chart',
      'depth is %1$s, and may be 1 to 1000 in the ios_store, and 1 to 200 in the android_store.',
      'Leave it out for 100. It is what costs.'),
    ('weight_0_to_1000000', 'weight is %1$s, and may be 0 to 1000000.', 'Leave it out for 1.'),
    ('volume_0_to_1000000000', 'volume is %1$s, and may be 0 to 1000000000.', 'Leave it out.'),

    ('app_id_form_by_store',
      'app_id is %1$s: in the ios_store it is a number such as 1480010017, and in the android_store a '
      'name such as com.acme.yoga. This row is of %2$s.',
      'It is in the address of the app''s page in its store.'),
    ('label_1_to_200', 'label has %2$s characters, and may have 1 to 200.',
      'Leave it out, and the app has the title of its page.'),
    ('role_own_or_competitor', 'role is %1$s, and may be own or competitor.', 'Leave it out for own.'),
    ('info_needs_location_and_language',
      'A page is followed (info) in a country and a language, and one of them is missing.',
      'Give location_name and language_code, such as United States and en.'),
    ('reviews_need_location_and_language',
      'Reviews are followed (reviews) in a country and a language, and one of them is missing.',
      'Give location_name and language_code, such as United States and en.'),
    ('html_only_with_info_or_reviews_of_android_store',
      'html is true, and raw pages are had beside info and reviews of the android_store alone: info is '
      '%1$s, reviews %2$s, and the store %3$s.',
      'Leave html out, or set info = true or reviews = true in the android_store.'),
    ('reviews_depth_1_to_maximum',
      'reviews_depth is %1$s, and may be 1 to 500 in the ios_store, and 1 to 10000 in the android_store.',
      'Leave it out for 50, or 150 in the android_store. It is what costs.'),

    ('collection_1_to_255_characters', 'collection is %1$s, of %2$s characters, and may have 1 to 255.',
      'For example topselling_free.'),
    ('category_1_to_255_characters', 'category is %1$s, of %2$s characters, and may have 1 to 255.',
      'Leave it out for all of the collection; the table category has them all.'),

    ('age_rating_known', 'age_rating is %1$s, and may be ages_up_to_5, ages_6_8 or ages_9_12.',
      'Leave it out for apps of all ages.'),
    ('age_rating_only_of_family_of_android_store',
      'age_rating is %1$s, and is had in the category family of the android_store alone: category is '
      '%2$s, and the store %3$s.',
      'Leave age_rating out, or write category = family.');
end;
comment on function refusals_of_subjects() is
  'What is said of what only a keyword, an app or a chart has.';

create or replace function refusals_of_projects()
returns table (rule text, sentence text, remedy text) language sql immutable parallel safe
begin atomic
  values
    ('name_1_to_100_characters',
      'The name of the project is %1$s, of %2$s characters, and may have 1 to 100.', 'Choose another.'),
    ('name_without_control_characters',
      'The name is %1$s, with a line break or another control character in it.',
      'Write it without.'),
    ('timezone_known', 'timezone is %1$s, and must be the name of a time zone, such as Europe/Berlin.',
      'Offsets and abbreviations have no summer time: select name from pg_timezone_names.'),
    ('daily_usd_0_to_99999999', 'daily_usd is %1$s, and may be 0 to 99999999.',
      'Leave it out for a project without a budget of its own.'),
    ('monthly_usd_0_to_99999999', 'monthly_usd is %1$s, and may be 0 to 99999999.',
      'Leave it out for a project without a budget of its own.'),
    ('keep_history_92_days_to_1000_years', 'keep_history is %1$s, and may be 92 days to 1000 years.',
      'Leave it out for what the setting KEEP_HISTORY says.'),
    ('keep_pages_0_to_1000_years', 'keep_pages is %1$s, and may be 0 days to 1000 years.',
      'Leave it out for what the setting KEEP_PAGES says.'),

    ('day_2000_to_2200', 'day is %1$s, and may be 2000-01-01 to 2200-01-01.',
      'It is a day in the time zone of the project.'),
    ('source_1_to_100_trimmed',
      'source is %1$s, of %2$s characters, and may have 1 to 100, the first and last of them no space.',
      'It is the name of the tool that measured.'),
    ('text_1_to_1000_trimmed',
      'text is %1$s, of %2$s characters, and may have 1 to 1000, the first and last of them no space.',
      'Say what happened on the day.'),
    ('text_without_control_characters', null, 'Write it in one line.'),

    ('curve_1_to_100_trimmed',
      'curve is %1$s, of %2$s characters, and may have 1 to 100, the first and last of them no space.',
      'Any name of yours; reciprocal and clicks are there.'),
    ('rank_1_to_1000', 'rank is %1$s, and may be 1 to 1000.',
      'A rank that a curve does not name is worth nothing.'),
    ('weight_of_rank_0_to_1000000', 'weight is %1$s, and may be 0 to 1000000.',
      'Only its ratio to the weight of rank 1 counts.'),
    ('weight_of_rank_1_positive',
      'The weight of rank 1 is %1$s, and must be above 0, because all others are divided by it.', 'Write 1.');
end;
comment on function refusals_of_projects() is
  'What is said of projects, their notes and their curves.';

create or replace function refusals_of_alert_rules()
returns table (rule text, sentence text, remedy text) language sql immutable parallel safe
begin atomic
  values
    ('name_1_to_100_trimmed',
      'The name is %1$s, of %2$s characters, and may have 1 to 100, the first and last of them no space.',
      'Choose another.'),
    ('app_id_form',
      'app_id is %1$s, which is neither a number such as 1480010017 nor a name such as com.acme.yoga.',
      'It is in the address of the app''s page in its store.'),
    ('role_own_competitor_or_any', 'role is %1$s, and may be own, competitor or any.',
      'Leave it out for own.'),
    ('keyword_1_to_700', 'keyword has %2$s characters, and may have 1 to 700.',
      'Leave it out for all keywords and charts.'),
    ('tag_1_to_100', 'tag has %2$s characters, and may have 1 to 100.',
      'Leave it out for all keywords and charts.'),
    ('direction_any_up_or_down', 'direction is %1$s, and may be up, down or any.', 'Leave it out for any.'),
    ('bands_1_to_1000', 'threshold_11_to_30 is %1$s and threshold_beyond is %2$s, and each may be 1 to 1000.',
      'They are places.'),
    ('top_1_to_1000', 'top is %1$s, and may be 1 to 1000.', 'It is the N of "top N".'),
    ('compared_with_known', 'compared_with is %1$s, and may be 1 day, 7 days, 30 days, best or base.',
      'Leave it out for 1 day.'),
    ('base_where_compared_with_base',
      'base is %1$s and compared_with is %2$s: a base is given with compared_with = base, and with nothing '
      'else.',
      'It is the rank that is compared with.'),
    ('base_1_to_1000', 'base is %1$s, and may be 1 to 1000.', 'It is the rank that is compared with.'),
    ('window_days_only_of_best',
      'window_days is %1$s, which belongs to compared_with = best alone; compared_with is %2$s.',
      'Take it out.'),
    ('window_days_2_to_400', 'window_days is %1$s, and may be 2 to 400.', 'Leave it out for 90.'),
    ('severity_known', 'severity is %1$s, and may be info, warning or critical.',
      'Leave it out for warning.'),
    ('cooldown_0_to_366_days',
      'cooldown is %1$s, and may be 0 to 366 days or the hours of as many, without months and years.',
      'Leave it out for none.');
end;
comment on function refusals_of_alert_rules() is
  'What is said of rules of alerts.';

create or replace function refusals_of_channels()
returns table (rule text, sentence text, remedy text) language sql immutable parallel safe
begin atomic
  values
    ('kind_of_channel', 'There is no kind of channel %1$s.',
      'It is webhook, slack, teams, discord or email.'),
    ('address_of_webhook_and_email',
      'A webhook and e-mail have an address, and Slack, Teams and Discord have none; the kind is %1$s.',
      'A webhook has its URL in address, e-mail its addresses; the URL of the others is a secret, which the '
      'variable of secret_variable holds.'),
    ('webhook_https_unless_loopback',
      'The address of a %1$s is no URL that begins with https://, or with http:// and a host on loopback, or '
      'it holds a login.',
      'It is not shown here, because it may hold a secret.'),
    ('email_1_to_20_addresses',
      'address is %1$s, and must be one to twenty addresses of e-mail with commas between.',
      'For example ann@example.com, bob@example.com.'),
    ('address_at_most_2000', 'address has %1$s characters, and may have 2000.', 'Shorten it.'),
    ('secret_of_webhook_and_slack',
      'secret_variable is %1$s. E-mail has none, every other kind has one; the kind is %2$s.',
      'It is the name of an environment variable of the runners, such as ALERT_OPS.'),
    ('secret_variable_form',
      'secret_variable is no name that begins with ALERT_ and goes on with capital letters, digits and _.',
      'The secret itself belongs into the environment of the runners, and never into a table.'),
    ('digest_known', 'digest is %1$s, and may be instant, daily, weekly or monthly.',
      'Leave it out for instant.'),
    ('without_known_sections', 'without is %1$s, and a report has other sections.',
      'They are summary, movers, trends, keywords, rivals, holders, changes, ratings, gaps and money.'),
    ('hour_0_to_23', 'hour is %1$s, and may be 0 to 23.', 'Leave it out for 8.'),
    ('max_lines_1_to_40', 'max_lines is %1$s, and may be 1 to 40.', 'Leave it out for 20.'),
    ('report_only_of_digest_by_email',
      'report is true, and a page is attached to a digest by e-mail alone: the kind is %1$s, and digest '
      '%2$s.',
      'Leave report out, or write digest = daily.');
end;
comment on function refusals_of_channels() is
  'What is said of channels of alerts.';

create or replace function refusal_of(in_table text, rule text, of_row text[], given jsonb[])
returns table (code text, message text, detail text, hint text)
language sql stable parallel safe
begin atomic
  select case when refusal_of.rule ~ '_missing$' then '23502' else '23514' end,
    format(coalesce(told.sentence, substring(refusal_of.rule from '^(.*)_missing$') || ' is missing.',
        substring(refusal_of.rule from '^(.*)_without_control_characters$')
          || ' is %1$s, with a line break or another control character in it.',
        'The row breaks the rule ' || refusal_of.rule || ': %1$s.'),
      variadic array(select shown_value(g.value) from unnest(given) with ordinality g (value, place)
        order by g.place))
      || coalesce(' Did you mean ' || meant_value(refusal_of.rule, given[1] #>> '{}') || '?', ''),
    concat_ws(': ', 'The row of ' || in_table, nullif(array_to_string(array(
      select shown_value(to_jsonb(r.name)) from unnest(of_row) with ordinality r (name, place)
      where r.name is not null order by r.place), ', '), '')) || '.',
    coalesce(told.remedy, case when refusal_of.rule ~ '_missing$' then 'Give it a value.'
      when refusal_of.rule ~ '_without_control_characters$' then 'Write it without.'
      else 'Correct the value.' end)
  from (select) one
  left join (
    select * from refusals_of_what_is_missing()
    union all select * from refusals_of_watches()
    union all select * from refusals_of_subjects()
    union all select * from refusals_of_projects()
    union all select * from refusals_of_alert_rules()
    union all select * from refusals_of_channels()
  ) told on told.rule = refusal_of.rule;
end;
comment on function refusal_of(text, text, text[], jsonb[]) is
  'What is said of a row that breaks a rule: the code of the error, what was given and what is allowed,'
  ' which row, and what to do.';
