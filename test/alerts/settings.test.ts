/** What alerts take from the environment. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'

test('the mail server, the sender, hosts and secrets are read, and no secret is shown', () => {
  const { alerts } = readConfig({
    SMTP_URL: 'smtps://me:pw@mail.example.com',
    SMTP_FROM: 'Ranks <ranks@example.com>',
    PRIVATE_ALERT_HOSTS: 'Chat.internal, 10.0.0.1',
    ALERT_OPS: 'whsec_x',
  })
  assert.equal(alerts.smtpUrl?.reveal(), 'smtps://me:pw@mail.example.com')
  assert.equal(alerts.smtpFrom, 'Ranks <ranks@example.com>')
  assert.deepEqual(alerts.privateHosts, ['chat.internal', '10.0.0.1'])
  assert.deepEqual([...alerts.secrets.keys()], ['ALERT_OPS'])
  assert.equal(String(alerts.secrets.get('ALERT_OPS')), '[secret]')
})
