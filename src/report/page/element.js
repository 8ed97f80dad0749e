// @ts-check
/** @import { Drawn } from './drawing.ts' */

/** @type {(tag: string, attributes?: Drawn['attributes'], children?: Drawn['children']) => Drawn} */
export const element = (tag, attributes = {}, children = []) => ({ tag, attributes, children })
