/**
 * The watchlists and rules of the demo, as `storerank import` reads them: a yoga app and its competitors in
 * two stores and three countries, and a second project that shares some of the keywords.
 */

/** Keyword, what it is worth, tag; of one project, store, location and language. */
const GROUPS: readonly (readonly [place: string, keywords: string])[] = [
  [
    'fitness,ios_store,2840,en',
    `yoga 10 core, yoga for beginners 6 core, daily yoga 4 core, chair yoga 3 long tail,
     prenatal yoga 2 long tail, morning yoga 2 long tail, yoga poses 3 core, yoga at home 3 core,
     hatha yoga 1 long tail, asana 1 long tail, pilates 8 core, pilates for beginners 3 core,
     wall pilates 5 long tail, stretch 5 core, full body stretch 2 long tail,
     meditation 5 discovery, mindfulness 2 discovery, calm 3 discovery,
     breathing 2 discovery, home workout 6 discovery, hiit 2 discovery, abs workout 3 discovery,
     fitness 4 discovery`,
  ],
  ['fitness,ios_store,2276,de', 'yoga 4 core, pilates 3 core, meditation 2 discovery'],
  ['fitness,ios_store,2392,ja', 'ヨガ 3 core, 瞑想 1 discovery'],
  [
    'fitness,android_store,2840,en',
    `yoga 8 core, yoga for beginners 4 core, pilates 5 core, stretch 3 core, chair yoga 2 long tail,
     meditation 4 discovery, home workout 4 discovery`,
  ],
  [
    'learning,ios_store,2840,en',
    `c++ 5 coding, learn c++ 4 coding, coding for kids 2 coding, 3+ math 4 maths, maths for kids 5 maths,
     times tables 3 maths, learn japanese 5 languages, kanji 2 languages, puzzle 2 games, calm 1 games,
     meditation 1 games, numberwren 1 brand`,
  ],
  [
    'learning,android_store,2840,en',
    'c++ 3 coding, multiplication 2 maths, math games 3 maths, learn japanese 4 languages',
  ],
]

export const KEYWORDS_CSV = [
  'project,store,location_code,language_code,keyword,weight,tags',
  ...GROUPS.flatMap(([place, keywords]) =>
    keywords.split(',').map((entry) => {
      const [, keyword, weight, tag] = /^(.+?) (\d+) ([a-z ]+)$/.exec(entry.trim()) ?? []
      return `${place},${keyword},${weight},${tag}`
    }),
  ),
].join('\n')

export const APPS_CSV = `project,store,app_id,role,location_code,language_code,info,reviews,label
fitness,ios_store,1480010017,own,2840,en,true,true,Ashlune
fitness,ios_store,1480010025,competitor,2840,en,true,false,
fitness,ios_store,1480010033,competitor,2840,en,true,false,
fitness,android_store,com.ashlune.yoga,own,2840,en,true,,Ashlune
fitness,android_store,com.stilmora.meditation,competitor,2840,en,false,,
learning,ios_store,1480010058,own,2840,en,true,true,
learning,ios_store,1224058329,own,2840,en,false,false,
learning,ios_store,1480010082,competitor,2840,en,true,false,
learning,ios_store,1480010108,competitor,2840,en,false,false,
learning,android_store,com.numberwren.math,own,2840,en,true,,
learning,android_store,com.kotobrook.japanese,competitor,2840,en,false,,
`

export const CHARTS_CSV = `project,store,collection,category,location_code,language_code,tags
learning,android_store,topselling_free,education,2840,en,charts
`

/** Followed from the day on which it enters the stores. */
export const ENTRANT_CSV = `project,store,app_id,role,location_code,language_code,info
fitness,ios_store,1480010041,competitor,2840,en,true
fitness,android_store,com.slowbarrow.fitnessdiary,competitor,2840,en,false
`

/** Added in the middle of the month. */
export const ADDED_CSV = `project,store,location_code,language_code,keyword,weight,tags
fitness,ios_store,2840,en,yoga for back pain,5,autumn
fitness,ios_store,2840,en,face yoga,3,autumn
fitness,ios_store,2840,en,somatic pilates,2,autumn
`

const ALERT_COLUMNS =
  'rule,project,kind,store,app_id,role,keyword,tag,top,direction,threshold,compared_with,severity'

/**
 * What the people of the yoga app want to be told of. Without a channel it is kept in alert_history alone.
 */
export const ALERTS_CSV = `${ALERT_COLUMNS}
a page changed,fitness,listing_changed,,,any,,,,,,,info
yoga left the top 10,fitness,top_crossed,ios_store,1480010017,,yoga,,10,down,,,critical
Slowbarrow is in the top 30,fitness,top_crossed,ios_store,1480010041,,yoga,,30,up,,7 days,
Slowbarrow overtook us,fitness,overtaken,ios_store,,,chair yoga,,,,,,
visibility fell by a third,fitness,visibility_moved,,,,,,,down,33,7 days,critical
the rating is below 4.5,fitness,rating_below,ios_store,1480010017,,,,,,4.5,,
the rating fell by 0.1,fitness,rating_dropped,ios_store,1480010017,,,,,,0.1,7 days,
autumn keywords moved,fitness,top_count_moved,,,,,autumn,10,,2,,info
everybody moved,fitness,market_moved,,,,,,,,2,,
not measured,fitness,not_measured,,,,,,,,1,,
the budget is nearly used,fitness,budget_used,,,,,,,,90,,
the balance is low,fitness,balance_low,,,,,,,,3,,critical
a job is late,fitness,job_late,,,,,,,,24,,
the service is out,fitness,outage,,,,,,,,,,critical
`
