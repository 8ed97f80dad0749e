/** What a setting is: everything that is known of one stands in its declaration (settings.ts). */
import type { z } from 'zod'

export interface Setting<Value> {
  /** The variable of the environment. */
  readonly name: string
  /** A sentence or two: what it does, and what holds without it. */
  readonly help: string
  /** Reads its text, or says what it must be: `must …`. */
  readonly schema: z.ZodType<Value, string>
  /** As a person would write it. Without one the value is null when it is not set. */
  readonly default?: string
  /** What `storerank init` shows where there is no default. */
  readonly example?: string
  /** `whole`: nobody else may read it; `in part`: it may hold a password. A refusal shows neither. */
  readonly secret?: 'whole' | 'in part'
  /**
   * Every variable that begins so is meant for storerank: one that is no setting is refused. To be given
   * where the name is shorter than 13 letters, because near misses of such a name are noted alone. `ALERT_`
   * begins the secrets of channels.
   */
  readonly prefix?: string
  /** Other programs read it too, in small letters as well. */
  readonly isCommon?: true
  /** Whether spaces at its ends belong to it. */
  readonly keepsSpaces?: true
}

type Declared<Value> = Omit<Setting<Value>, 'name'>

/** Declares a setting with a default. */
export function setting<Value>(
  name: string,
  declared: Declared<Value> & { readonly default: string },
): Setting<Value>
/** Declares a setting that is null when it is not set. */
export function setting<Value>(name: string, declared: Declared<Value>): Setting<Value | null>
export function setting<Value>(name: string, declared: Declared<Value>): Setting<Value> {
  return { name, ...declared }
}

/** Settings by the names that they have in `Config`; those of one thing stand together. */
export interface Shape {
  readonly [name: string]: Setting<unknown> | Shape
}

/** What `Config` has of a shape. */
export type Values<S> = {
  readonly [Name in keyof S]: S[Name] extends Setting<infer Value> ? Value : Values<S[Name]>
}

/** A chapter of `.env` and of docs/operations.md. */
export interface Group {
  readonly title: string
  readonly note?: string
  readonly shape: Shape
}

/** Whether it is a setting, and not several under one name. */
export function isSetting(part: Setting<unknown> | Shape): part is Setting<unknown> {
  return 'schema' in part && 'name' in part
}

/** Every setting of a shape, in its order. */
export function listSettings(shape: Shape): Setting<unknown>[] {
  return Object.values(shape).flatMap((part) => (isSetting(part) ? [part] : listSettings(part)))
}
