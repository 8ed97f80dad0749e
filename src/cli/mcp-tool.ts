/** What an assistant may call, however it is found: in the catalogue of the database, or among commands. */
export type Schema = Readonly<Record<string, unknown>>

/** What an assistant may call. */
export interface AssistantTool {
  readonly name: string
  readonly description: string
  /** JSON Schema. */
  readonly inputSchema: Schema & { readonly type: 'object' }
  /** @returns what the assistant reads */
  run(input: Readonly<Record<string, unknown>>): Promise<string>
}
