/** What is asked of stores, competitors, reviews, money and days. */
import {
  FIRST,
  IOS,
  LAST,
  type Measurement,
  mean,
  middleRank,
  OWN,
  type Question,
  RIVALS,
  rankOf,
  round,
  sum,
  visibility,
  WEEK_AGO,
  words,
} from './month.ts'

const titleWords = (title: string) => title.toLowerCase().split(/[^a-z0-9]+/)

export const OF_THE_MARKET: readonly Question[] = [
  {
    asks: '15. Which listings of competitors changed this week?',
    on: 'page',
    // The story: on the 16th Stilmora releases 2.5.0 under another title; nothing else but on the 25th.
    by: `select distinct app_id, field from app_changes('fitness', '2026-09-14', '2026-09-20')
      where role = 'competitor' and field in ('title', 'version', 'update_notes')`,
    answer: () => ['title', 'update_notes', 'version'].map((field) => ['1480010025', field]),
  },
  {
    asks: '16. Before and after of a title change, on keywords with the new word and without',
    on: 'page',
    by: `select lists, compared, round(rank_before, 1), round(rank_after, 1)
      from impact('fitness', '2026-09-09', '${OWN}') where lists in ('added', 'others')`,
    answer: ({ fitness }) => {
      // "Yoga for Everyone" became "Yoga & Pilates": pilates came; for and everyone went.
      const group = (list: readonly Measurement[]) =>
        words(list).includes('pilates') ? 'added' : words(list).includes('for') ? 'removed' : 'others'
      return (['added', 'others'] as const).map((name) => {
        const ends = fitness
          .lists(IOS)
          .filter((list) => group(list) === name)
          .flatMap((list) => {
            const before = middleRank(list, ['2026-09-02', '2026-09-08'], OWN)
            const after = middleRank(list, ['2026-09-09', '2026-09-15'], OWN)
            return before === undefined || after === undefined ? [] : [{ before, after }]
          })
        const ranked = ends.filter(({ before, after }) => Math.min(before, after) < 101)
        return [
          name,
          ends.length,
          round(mean(ranked.map(({ before }) => before))),
          round(mean(ranked.map(({ after }) => after))),
        ]
      })
    },
  },
  {
    asks: '17. Where do competitors rank where we are not tracked or not ranking?',
    on: 'command',
    // Their pages name en, de, fr, es and ja; ours en and de, and only en, de and ja are followed.
    by: `select language, gap from localization_gaps('fitness', '${WEEK_AGO}', '${LAST}')`,
    answer: () => ['es', 'fr', 'ja'].map((language) => [language, 'not_in_listing']),
  },
  {
    asks: '18. Keywords where two competitors rank in the top 30 and we do not',
    on: 'sql',
    by: `select keyword, location_code from rank_daily('fitness', '${LAST}', '${LAST}')
      where store = '${IOS}' group by 1, 2
      having count(*) filter (where role = 'competitor' and rank <= 30) >= 2
        and count(*) filter (where role = 'own' and rank <= 30) = 0`,
    answer: ({ fitness }) =>
      fitness.lists(IOS).flatMap((list) => {
        const isIn = (app: string) => (rankOf(list, LAST, app) ?? 999) <= 30
        return RIVALS.filter(isIn).length >= 2 && !isIn(OWN) ? [[list[0]?.keyword, list[0]?.place]] : []
      }),
  },
  {
    asks: '19. Which words stand in the titles of what ranks with us, and are not tracked?',
    on: 'command',
    by: ['discover', '--project', 'fitness', '--country', 'US', '--limit', '40'],
    // Topics of the invented store: titles are made of "Yoga Class", "HIIT Workout", "Hatha Yoga Studio".
    answer: () => [/│ yoga class +│/, /│ hiit workout +│/],
  },
  {
    asks: '20. How hard is a keyword, by the top 10 apps?',
    on: 'page',
    by: `select keyword, difficulty, middle_votes from difficulty('fitness', '2026-09-24', '${LAST}')
      where store = '${IOS}' and location_code = 2840 and keyword in ('yoga', 'hiit')`,
    answer: ({ fitness }) =>
      ['hiit', 'yoga'].map((keyword) => {
        const list = fitness.of({ store: IOS, keyword, place: 2840 })
        const top = (day: string) => list.find((row) => row.day === day)?.apps?.slice(0, 10) ?? []
        const apps = top(LAST)
        const known = apps.map((app) => fitness.numbers.get(`${app} 2840`) ?? [])
        const votes = known.map(([count = 0]) => count)
        const parts = [
          0.4 * mean(votes.map((count) => Math.min(1, Math.log10(1 + count) / 6))),
          0.2 * mean(known.map(([, stars = 0]) => Math.max(0, stars / 100 - 3) / 2)),
          0.02 * apps.filter((app) => titleWords(fitness.titleOf(app)).includes(keyword)).length,
          0.02 * apps.filter((app) => top('2026-09-24').includes(app)).length,
        ]
        return [keyword, round(100 * sum(parts)), votes.toSorted((a, b) => a - b)[4]]
      }),
  },
  {
    asks: '21. Share of voice per competitor and country, this week against an earlier one',
    on: 'command',
    by: `select round(share_before, 1), round(share_after, 1)
      from visibility_change('fitness', '${FIRST}', '${LAST}', in_location => 'Germany')
      where app_id = '${RIVALS[2]}'`,
    answer: ({ fitness }) => {
      const lists = fitness.lists(IOS).filter((list) => list[0]?.place === 2276)
      const share = (day: string) => {
        const won = lists.map(
          (list) => (list[0]?.weight ?? 0) / (rankOf(list, day, RIVALS[2] ?? '') ?? Infinity),
        )
        const all = lists.map((list) => {
          const apps = list.find((row) => row.day === day)?.apps ?? []
          return (list[0]?.weight ?? 0) * sum(apps.map((_, n) => 1 / (n + 1)))
        })
        return (100 * sum(won)) / sum(all)
      }
      return [[round(share(FIRST)), round(share(LAST))]]
    },
  },
  {
    asks: '22. Apps that are new in the top 10 of our keywords this week',
    on: 'command',
    by: `select keyword, count(*)::int from top_holders('fitness', '${WEEK_AGO}', '${LAST}')
      where is_new and location_code = 2840 and store = '${IOS}' group by 1`,
    answer: ({ fitness }) =>
      fitness.lists(IOS).flatMap((list) => {
        const at = (day: string) => list.find((row) => row.day === day)?.apps?.slice(0, 10) ?? []
        const come = at(LAST).filter((app) => !at(WEEK_AGO).includes(app))
        return list[0]?.place === 2840 && come.length > 0 ? [[list[0].keyword, come.length]] : []
      }),
  },
  {
    asks: '23. Was the drop of the 23rd an algorithm change, or only ours?',
    on: 'command',
    by: `select round(moved, 1), round(own_change, 1), verdict
      from market_moves('fitness', '2026-09-23', '2026-09-23') where store = '${IOS}'`,
    answer: ({ fitness }) => {
      const moves = fitness.lists(IOS).map((list) => {
        const at = (day: string) => list.find((row) => row.day === day)?.apps ?? []
        const [was, is] = [at('2026-09-22'), at('2026-09-23')]
        return mean(was.flatMap((app, n) => (is.includes(app) ? [Math.abs(is.indexOf(app) - n)] : [])))
      })
      const own = fitness.lists(IOS).flatMap((list) => {
        const [was, is] = [rankOf(list, '2026-09-22', OWN), rankOf(list, '2026-09-23', OWN)]
        return was === null && is === null ? [] : [(was ?? 101) - (is ?? 101)]
      })
      return [[round(mean(moves)), round(mean(own)), 'own']]
    },
  },
  {
    asks: '23b. And that of the 26th in the Android store?',
    on: 'command',
    by: `select verdict from market_moves('fitness', '2026-09-26', '2026-09-26') where store <> '${IOS}'`,
    answer: () => [['everybody']],
  },
  {
    asks: '24. Best and worst day of the month, never a gap',
    on: 'command',
    by: `select best_day::text, round(best, 1), worst_day::text, round(worst, 1)
      from extreme_days('fitness', '${FIRST}', '${LAST}') where app_id = '${OWN}'`,
    answer: ({ fitness }) => {
      const lists = fitness.lists(IOS)
      const days = [...new Set(fitness.of({ store: IOS }).map(({ day }) => day))].flatMap((day) => {
        const due = fitness.of({ store: IOS, day })
        const measured = due.filter(({ apps }) => apps !== null)
        return measured.length < 0.8 * due.length ? [] : [{ day, value: visibility(lists, day, OWN) }]
      })
      const [worst, best] = [
        days.toSorted((a, b) => a.value - b.value),
        days.toSorted((a, b) => b.value - a.value),
      ]
      return [[best[0]?.day, round(best[0]?.value ?? 0), worst[0]?.day, round(worst[0]?.value ?? 0)]]
    },
  },
  {
    asks: '25. How many keywords stand in 1, 2 to 3, 4 to 10, …, by week',
    on: 'command',
    by: `select top_1, top_2_3, top_4_10, top_11_30, top_31_100, beyond, not_measured
      from rank_distribution('fitness', '2026-09-21', '2026-09-27', in_unit => 'week')
      where app_id = '${OWN}'`,
    answer: ({ fitness }) => {
      const ranks = fitness.lists(IOS).map((list) => middleRank(list, ['2026-09-21', '2026-09-27'], OWN))
      const between = (from: number, to: number) =>
        ranks.filter((rank) => rank !== undefined && rank >= from && rank <= to).length
      const bands = [between(1, 1), between(2, 3), between(4, 10), between(11, 30), between(31, 100)]
      return [[...bands, between(101, 101), ranks.filter((rank) => rank === undefined).length]]
    },
  },
  {
    asks: '26. Reviews of the week: how many, how many stars, how many of one star',
    on: 'sql',
    by: `select count(*)::int, round(avg(rating)::numeric, 2), count(*) filter (where rating = 1)::int
      from app_review
      where project = 'fitness' and app_id = '${OWN}' and day between '2026-09-22' and '2026-09-28'`,
    answer: ({ fitness }) => {
      const stars = fitness.reviews
        .filter(({ app, day }) => app === OWN && day >= '2026-09-22' && day <= '2026-09-28')
        .map((review) => review.stars)
      const average = Math.round(100 * mean(stars)) / 100
      return [[stars.length, average, stars.filter((count) => count === 1).length]]
    },
  },
  {
    asks: '27. What did each store cost this month?',
    on: 'sql',
    // Seven keywords of Android on 31 days, but for seven on the 15th and two on the 20th, at $0.0012.
    by: `select sum(tasks)::int, sum(spent_usd)::float8 from spend_by_target('fitness', '${FIRST}', '${LAST}')
      where store = 'android_store' and function = 'app_searches'`,
    answer: () => [[7 * 31 - 9, (7 * 31 - 9) * 0.0012]],
  },
  {
    asks: '28. Which days have gaps, and why: can I trust the week?',
    on: 'page',
    // The story: on the 15th the service is out, and all is missed; on the 20th the budget is too small.
    by: `select day::text, gap from gap_reasons('fitness', '${FIRST}', '${LAST}') group by 1, 2`,
    answer: () => [
      ['2026-09-15', 'missed'],
      ['2026-09-20', 'budget'],
    ],
  },
  {
    asks: '29. Which keywords has a competitor in its title, and how does it rank for them?',
    on: 'command',
    by: `select keyword, middle_rank from coverage_of_titles('fitness', '${FIRST}', '${LAST}')
      where app_id = '${RIVALS[1]}' and field = 'title' and is_whole`,
    answer: ({ fitness }) =>
      fitness
        .lists(IOS)
        // "Brindlefit: Home Workout"
        .filter((list) => words(list).every((word) => ['brindlefit', 'home', 'workout'].includes(word)))
        .map((list) => [list[0]?.keyword, middleRank(list, [FIRST, LAST], RIVALS[1] ?? '')]),
  },
  {
    asks: '30. A wide table of ranks, keyword by day',
    on: 'sql',
    by: [
      'export',
      `select keyword, day, rank from rank_daily('fitness', '2026-09-29', '${LAST}')
        where app_id = '${OWN}' and location_code = 2840`,
      '--wide',
    ],
    answer: ({ fitness }) => {
      const list = fitness.of({ store: IOS, keyword: 'yoga', place: 2840 })
      const ranks = ['2026-09-29', LAST].map((day) => rankOf(list, day, OWN))
      return [/^keyword,2026-09-29,2026-09-30$/m, new RegExp(`^yoga,${ranks.join(',')}$`, 'm')]
    },
  },
]
