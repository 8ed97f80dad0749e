/** Trouble of a test's sandbox, switched on while it runs. */
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'

/** Replaces all faults of the sandbox. */
export async function putFaults(
  sandboxUrl: string,
  faults: FaultSettingsInput,
  { login, password } = { login: 'sandbox', password: 'sandbox' },
): Promise<void> {
  const response = await fetch(`${sandboxUrl}/faults`, {
    method: 'PUT',
    headers: { authorization: `Basic ${btoa(`${login}:${password}`)}`, 'content-type': 'application/json' },
    body: JSON.stringify(faults),
  })
  if (!response.ok) throw new Error(`The sandbox refuses the faults: ${await response.text()}`)
}
