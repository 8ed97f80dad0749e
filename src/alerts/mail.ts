/**
 * A message as e-mail, by the mail server of the operator: in text and HTML, with the page of a report
 * attached.
 */
import { createTransport, type Transporter } from 'nodemailer'
import { UnavailableError } from '../errors.ts'
import type { Outgoing } from './content.ts'
import { renderHtml, renderText } from './render.ts'
import type { AlertSettings, Channel } from './settings.ts'

/** Of each step. */
const STEP_TIMEOUT_MS = 10_000
/** Of all of them, with the page. */
const MAIL_TIMEOUT_MS = 60_000

/**
 * @returns whom the server took the message not for, as a sentence; null when it took it for all
 * @throws UnavailableError when it took it for nobody
 */
export async function sendMail(
  channel: Channel,
  { id, content, attachment }: Outgoing,
  settings: AlertSettings,
  signal: AbortSignal,
): Promise<string | null> {
  const transport = openTransport(new URL(settings.smtpUrl?.reveal() ?? ''))
  try {
    const { rejected = [] } = await transport.sendMail({
      signal: AbortSignal.any([signal, AbortSignal.timeout(MAIL_TIMEOUT_MS)]),
      messageId: `<${id}@storerank>`,
      from: settings.smtpFrom ?? '',
      to: (channel.address ?? '').split(',').map((address) => address.trim()),
      subject: content.title,
      text: renderText(content, id),
      html: renderHtml(content, id),
      headers: { 'auto-submitted': 'auto-generated' },
      attachments: attachment === null ? [] : [{ ...attachment, contentType: 'text/html; charset=utf-8' }],
    })
    if (rejected.length === 0) return null
    return `The mail server of SMTP_URL did not take the message for ${rejected.join(', ')}.`
  } catch (error) {
    if (signal.aborted) throw error
    throw new UnavailableError(`The mail server of SMTP_URL did not take the message: ${explain(error)}.`, {
      cause: error,
    })
  } finally {
    transport.close()
  }
}

function openTransport(url: URL): Transporter {
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
  return createTransport({
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (url.protocol === 'smtps:' ? 465 : 587)),
    secure: url.protocol === 'smtps:',
    // A password and a report do not go over a network in the clear.
    requireTLS: url.protocol === 'smtp:' && !isLoopback,
    ignoreTLS: isLoopback,
    ...(url.username === ''
      ? {}
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

function explain(error: unknown): string {
  const { code, responseCode } = error as { code?: string; responseCode?: number }
  if (code === 'EABORT') return `it did not answer within ${MAIL_TIMEOUT_MS / 1000} seconds`
  return [code, responseCode].filter(Boolean).join(' ') || 'no reason is known'
}
