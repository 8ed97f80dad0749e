/**
 * The example watchlist of a first run, as files that `storerank import` reads: two projects, both stores,
 * keywords that are hard to spell, and one each of what else can be watched: a chart, the reviews of an app,
 * the raw pages of a search. Nothing in it is of the service as it is sold alone, because a first run has the
 * sandbox in the form of the specification.
 */
import type { Database } from '../db/database.ts'
import { importWatches, waitForImports } from './import.ts'

const KEYWORDS = `project,store,location_code,language_code,keyword,html
fitness,ios_store,2840,en,yoga,
fitness,ios_store,2840,en,meditation,
fitness,ios_store,2840,en,home workout,
fitness,ios_store,2840,en,breathing,
fitness,ios_store,2840,en,stretch,
fitness,ios_store,2840,en,pilates,
fitness,ios_store,2840,en,hiit,
fitness,ios_store,2840,en,calm,
fitness,ios_store,2840,en,naïve,
fitness,ios_store,2840,en,100% free,
fitness,ios_store,2392,ja,ヨガ,
fitness,ios_store,2392,ja,瞑想,
fitness,ios_store,2250,fr,méditation,
fitness,android_store,2840,en,meditation,
fitness,android_store,2840,en,workout,
fitness,android_store,2840,en,yoga,true
learning,ios_store,2840,en,c++,
learning,ios_store,2840,en,3+ math,
learning,ios_store,2840,en,maths for kids,
learning,ios_store,2840,en,learn japanese,
learning,ios_store,2840,en,puzzle,
learning,ios_store,2840,en,calm,
learning,ios_store,2392,ja,日本語,
learning,ios_store,2392,ja,算数,
learning,android_store,2840,en,c++,
learning,android_store,2840,en,100% free,
learning,android_store,2840,en,multiplication,
learning,android_store,2840,en,learn japanese,
`

const CHARTS = `project,store,collection,category,location_code,language_code
learning,android_store,topselling_free,education,2840,en
`

const APPS = `project,store,app_id,role,location_code,language_code,info,reviews
fitness,ios_store,1480010017,own,2840,en,true,true
fitness,ios_store,1480010025,competitor,2840,en,,
fitness,ios_store,1480010041,competitor,2840,en,,
fitness,android_store,com.ashlune.yoga,own,2840,en,true,
fitness,android_store,com.stilmora.meditation,competitor,2840,en,,
learning,ios_store,1480010058,own,2840,en,true,
learning,ios_store,1480010082,competitor,2840,en,,
learning,ios_store,1480010108,competitor,2840,en,,
learning,android_store,com.numberwren.math,own,2840,en,true,
learning,android_store,com.kotobrook.japanese,competitor,2840,en,,
`

/**
 * Brings the example into a database that never had a watch; elsewhere it does nothing. Call it only where
 * tasks cost nothing: on the embedded database and the sandbox.
 * @returns whether it did
 */
export async function insertExampleWatchlist(db: Database): Promise<boolean> {
  return db.begin(async (tx) => {
    await waitForImports(tx)
    const everWatched = await tx`
      select from keyword_watch union all select from chart_watch union all select from app_watch
      union all select from watch_period limit 1`
    if (everWatched.length > 0) return false
    for (const file of [KEYWORDS, CHARTS, APPS]) await importWatches({ begin: (work) => work(tx) }, file)
    return true
  })
}
