/** A proxy in front of the sandbox that loses POSTs of tasks, or their answers, as a test says. */
import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { AppDataClient } from '../../src/service/client.ts'
import { LOGIN } from '../support/world.ts'

export interface LossyProxy {
  /**
   * `answer`: the service gets the POST and its answer is lost; `request`: it never gets it. A POST is lost
   * by what this says when it arrives.
   */
  lose: 'nothing' | 'answer' | 'request'
  /** Such POSTs that came this far. */
  readonly posts: number
  readonly url: string
  readonly client: AppDataClient
}

/**
 * Ends with the test.
 * @param what how the path of a POST ends that it may lose
 */
export async function startLossyProxy(
  t: TestContext,
  sandboxUrl: string,
  what = '/task_post',
): Promise<LossyProxy> {
  const proxy = { lose: 'nothing' as LossyProxy['lose'], posts: 0 }
  const server = createServer((request, response) => {
    const isPost = request.url?.endsWith(what) ?? false
    const lose = isPost ? proxy.lose : 'nothing'
    if (isPost) proxy.posts += 1
    if (lose === 'request') {
      request.on('end', () => request.socket.destroy()).resume()
      return
    }
    const { method, headers } = request
    const onward = forward(`${sandboxUrl}${request.url}`, { method, headers }, (answer) => {
      if (lose === 'answer') {
        answer.on('end', () => request.socket.destroy()).resume()
        return
      }
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new AppDataClient({ ...LOGIN, baseUrl: url })
  t.after(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(proxy, { url, client })
}
