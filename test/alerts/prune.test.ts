/** What alerts have told is forgotten when neither a cooldown nor a comparison looks at it any more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pruneAlerts } from '../../src/alerts/prune.ts'
import { column } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const planning = lasting(createPlanning)

test('events of 400 days go, but for the last of each rule and subject; then their messages', async () => {
  const { db } = planning
  const { sql } = db
  await planning.watch('p', ['yoga'])
  await sql`insert into alert_channel (name, kind, address) values ('c', 'email', 'a@example.com')`
  await sql`insert into alert_rule (project, name, kind, threshold) values ('p', 'r', 'rank_moved', 3)`
  await sql`
    insert into alert_message (channel_id, project_id, state, problem, created_at, ended_at, digest_at)
    select c.id, p.id, v.state, v.problem, now() - v.age, now() - v.age, v.digest
    from alert_channel c, project p, (values
      ('delivered', 'told', interval '401 days', null), ('delivered', 'young', interval '399 days', null),
      ('pending', 'waits', interval '401 days', null), ('delivered', 'digest', interval '401 days',
        timestamptz '2024-01-01'),
      ('delivered', 'last digest', interval '401 days', '2024-01-02')) v (state, problem, age, digest)`
  await sql`
    insert into alert_event (rule_id, subject, slot, found_at, kind, severity, message_id)
    select r.id, v.subject, now() - v.age, now() - v.age, 'rank_moved', 'info',
      (select m.id from alert_message m where m.problem = v.message)
    from alert_rule r, (values
      ('a', interval '500 days', 'told'), ('a', interval '401 days', 'waits'),
        ('a', interval '399 days', 'young'),
      ('a', interval '1 day', null), ('b', interval '600 days', null)) v (subject, age, message)`
  assert.deepEqual(await pruneAlerts(db), { events: 1, messages: 2 })
  const events =
    await sql`select subject, floor(extract(epoch from now() - slot) / 86400)::int as days from alert_event
      order by 1, 2`
  assert.deepEqual(
    events.map(({ subject, days }) => `${subject} ${days}`),
    ['a 1', 'a 399', 'a 401', 'b 600'],
  )
  const messages = await sql`select problem from alert_message order by 1`
  assert.deepEqual(column(messages, 'problem'), ['last digest', 'waits', 'young'])
  assert.deepEqual(await pruneAlerts(db), { events: 0, messages: 0 })
})

test('what was noted for a project without a rule is forgotten; what a rule looks at is not', async () => {
  const { db } = planning
  await db.sql`delete from alert_due`
  await db.sql`insert into project (name) values ('without')`
  await db.sql`insert into alert_due (project_id, slot, target_ids) select id, now(), '{1}' from project`
  await pruneAlerts(db)
  const left = await db.sql`select p.name from alert_due d join project p on p.id = d.project_id`
  assert.deepEqual(column(left, 'name'), ['p'])
})
