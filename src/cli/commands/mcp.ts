import { command, flag } from '../command.ts'
import { database } from '../needs.ts'

export const mcp = command({
  name: 'mcp',
  group: 'Look',
  summary: 'answer an assistant by the Model Context Protocol, on stdin and stdout',
  options: {
    allowChanges: flag('let it change watchlists too, as storerank_editor'),
  },
  examples: ['storerank mcp'],
  needs: database(),
  run: async ({ allowChanges }, context, session) =>
    (await import('../mcp.ts')).serveAssistant(session, allowChanges, context),
})
