/**
 * In which form the sandbox of the contract is the service: that of the specification, or as it is sold. In
 * the second the paths have other names, which are put right on the way out and back, so that a row says the
 * same of both.
 */

import type { Caller, Json } from '../sandbox/caller.ts'

export type Form = 'as specified' | 'as sold'

let chosen: Form = 'as specified'

/** Chooses the form for this process, before any test is registered. */
export const chooseForm = (form: Form): void => {
  chosen = form
}

export const isSold = (): boolean => chosen === 'as sold'

/** What is expected in each form, where they differ. */
export const byForm = <Value>(specified: Value, sold: Value): Value => (isSold() ? sold : specified)

export const SEGMENTS = { ios_store: 'apple', android_store: 'google' } as const
const NAMES = Object.entries(SEGMENTS)

/** What the client is told of the names. */
export const storeNames = () => (isSold() ? { stores: SEGMENTS } : {})

/** A path of ours, as it is asked for. */
export const pathInForm = (path: string): string =>
  isSold()
    ? NAMES.reduce((text, [ours, theirs]) => text.replace(`/app_data/${ours}`, `/app_data/${theirs}`), path)
    : path

/** What an answer says of paths and stores, in our names. */
const readNames = (body: string): string =>
  NAMES.reduce(
    (text, [ours, theirs]) =>
      text
        .replaceAll(`/app_data/${theirs}/`, `/app_data/${ours}/`)
        .replaceAll(`"app_data","${theirs}"`, `"app_data","${ours}"`)
        .replaceAll(`"se":"${theirs}"`, `"se":"${ours}"`),
    body,
  )

/** A path as it was asked for, in our names. */
export const pathInOurs = (path: string): string => (isSold() ? readNames(`${path}/`).slice(0, -1) : path)

/** A body that did not come through the caller, in our names. */
export const inOurNames = (body: Json): Json =>
  isSold() ? JSON.parse(readNames(JSON.stringify(body))) : body

/** A caller who uses our names whatever the form. */
export const inForm = (caller: Caller): Caller => {
  if (!isSold()) return caller
  const call = async (path: string, init?: RequestInit): Promise<Response> => {
    const response = await caller.fetch(pathInForm(path), init)
    const { status, headers } = response
    return new Response(readNames(await response.text()), { status, headers })
  }
  return {
    ...caller,
    fetch: call,
    get: async (path) => (await call(path)).json(),
    post: async (path, body) => (await call(path, { method: 'POST', body: JSON.stringify(body) })).json(),
  }
}

/** A name of the wire as the client has it. */
export const camel = (name: string): string =>
  name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
