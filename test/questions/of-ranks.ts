/** What is asked of own ranks. */
import {
  FIRST,
  IOS,
  LAST,
  type Month,
  mean,
  OWN,
  OWN_ANDROID,
  type Question,
  RIVALS,
  rankOf,
  round,
  SECOND_OWN,
  sum,
  visibility,
  WEEK_AGO,
  weeks,
} from './month.ts'

/** An own app in the top N on one day and not on another, list by list. */
function crossings(month: Month, top: number, [from, to]: readonly [string, string]) {
  return [OWN, OWN_ANDROID].flatMap((app) =>
    month.lists(app === OWN ? IOS : 'android_store').flatMap((list) => {
      const [was, is] = [rankOf(list, from, app), rankOf(list, to, app)]
      if (was === undefined || is === undefined || (was ?? 999) > top || (is ?? 999) <= top) return []
      const at = (day: string) => list.find((row) => row.day === day)?.apps?.slice(0, top) ?? []
      const come = at(to).filter((other) => !at(from).includes(other))
      return [[list[0]?.keyword, list[0]?.place, was, is, come.map((one) => month.titleOf(one)).join('; ')]]
    }),
  )
}

export const OF_RANKS: readonly Question[] = [
  {
    asks: '1. Which keywords dropped out of the top 10 this week, and which app took the place?',
    on: 'page',
    by: `select keyword, location_code, rank_before, rank_after, array_to_string(instead, '; ')
      from entered_left_top('fitness', '${WEEK_AGO}', '${LAST}')
      where role = 'own' and movement = 'left' and list = 'keyword'`,
    answer: ({ fitness }) => crossings(fitness, 10, [WEEK_AGO, LAST]),
  },
  {
    asks: '2. Which keywords entered the top 3 this week?',
    on: 'page',
    by: `select keyword, location_code, rank_after, rank_before, array_to_string(instead, '; ')
      from entered_left_top('fitness', '${WEEK_AGO}', '${LAST}', 3)
      where role = 'own' and movement = 'entered'`,
    answer: ({ fitness }) => crossings(fitness, 3, [LAST, WEEK_AGO]),
  },
  {
    asks: '3. What did the release of the 23rd do: ranks 7 days before against 7 after?',
    on: 'page',
    by: `select compared, round(rank_before, 1), round(rank_after, 1), climbed, fell
      from impact('fitness', '2026-09-23', '${OWN}') where lists = 'all'`,
    answer: ({ fitness }) => {
      const { compared, ranked } = weeks(fitness.lists(IOS), OWN)
      const [before, after] = [ranked.map((one) => one.before), ranked.map((one) => one.after)]
      const climbed = ranked.filter((one) => one.after < one.before).length
      const fell = ranked.filter((one) => one.after > one.before).length
      return [[compared, round(mean(before)), round(mean(after)), climbed, fell]]
    },
  },
  {
    asks: '4. Which competitor gained most visibility, in which country, this month?',
    on: 'page',
    by: `select l.location_code, c.app_id, round(c.change, 1)
      from (select distinct location, location_code from project_list where project = 'fitness') l
      cross join lateral visibility_change('fitness', '${FIRST}', '${LAST}', in_location => l.location) c
      where c.role = 'competitor' and c.store = '${IOS}' order by c.change desc nulls last limit 1`,
    answer: ({ fitness }) => {
      const both = fitness
        .lists(IOS)
        .filter((list) => rankOf(list, FIRST, OWN) !== undefined && rankOf(list, LAST, OWN) !== undefined)
      const gains = [2840, 2276, 2392].flatMap((place) => {
        const lists = both.filter((list) => list[0]?.place === place)
        return RIVALS.map(
          (app) => [place, app, visibility(lists, LAST, app) - visibility(lists, FIRST, app)] as const,
        )
      })
      const [[place, app, gain] = [0, '', 0]] = gains.toSorted((a, b) => b[2] - a[2])
      return [[place, app, round(gain)]]
    },
  },
  {
    asks: '5. On which keywords do two own apps both rank in the top 20?',
    on: 'command',
    by: `select keyword, rank, other_rank, days_both
      from cannibalization('learning', '${WEEK_AGO}', '${LAST}') where store = '${IOS}'`,
    answer: ({ learning }) =>
      learning.lists(IOS).flatMap((list) => {
        const days = list
          .filter(({ day }) => day >= WEEK_AGO)
          .map(({ day }) => [rankOf(list, day, '1480010058'), rankOf(list, day, SECOND_OWN)] as const)
          .filter((pair) => pair.every((rank) => rank !== null && rank !== undefined && rank <= 20))
        const last = days.at(-1) as [number, number] | undefined
        return last === undefined
          ? []
          : [[list[0]?.keyword, Math.min(...last), Math.max(...last), days.length]]
      }),
  },
  {
    asks: '6. Which keywords swing most in 30 days?',
    on: 'sql',
    by: `select keyword, location_code, round(stddev(rank), 1)
      from rank_daily('fitness', '${FIRST}', '${LAST}') where app_id = '${OWN}' and rank is not null
      group by 1, 2 order by stddev(rank) desc nulls last limit 3`,
    answer: ({ fitness }) =>
      fitness
        .lists(IOS)
        .flatMap((list) => {
          const ranks = list.flatMap(({ day }) => rankOf(list, day, OWN) ?? [])
          if (ranks.length < 2) return []
          const square = sum(ranks.map((rank) => (rank - mean(ranks)) ** 2))
          return [[list[0]?.keyword, list[0]?.place, Math.sqrt(square / (ranks.length - 1))] as const]
        })
        .toSorted((a, b) => b[2] - a[2])
        .slice(0, 3)
        .map(([keyword, place, swing]) => [keyword, place, round(swing)]),
  },
  {
    asks: '7. Where are we at rank 4 to 10, the heaviest first?',
    on: 'page',
    by: `select keyword, location_code, rank from striking_distance('fitness', '${LAST}', '${LAST}', 4, 10)
      where app_id = '${OWN}'`,
    answer: ({ fitness }) =>
      fitness.lists(IOS).flatMap((list) => {
        const rank = rankOf(list, LAST, OWN) ?? 0
        return rank >= 4 && rank <= 10 ? [[list[0]?.keyword, list[0]?.place, rank]] : []
      }),
  },
  {
    asks: '8. Visibility and average rank by tag',
    on: 'page',
    by: `select t.tag, round(v.visibility, 1), round(v.average_rank, 1)
      from unnest(array['core', 'long tail']) t (tag)
      cross join lateral visibility('fitness', '${LAST}', '${LAST}', in_tag => t.tag) v
      where v.app_id = '${OWN}'`,
    answer: ({ fitness }) =>
      ['core', 'long tail'].map((tag) => {
        const lists = fitness.lists(IOS).filter((list) => list[0]?.tags.includes(tag))
        const ranks = lists.flatMap((list) => rankOf(list, LAST, OWN) ?? [])
        return [tag, round(visibility(lists, LAST, OWN)), round(mean(ranks))]
      }),
  },
  {
    asks: '9. Average rank per tag over time, week by week',
    on: 'command',
    by: `select round(average_rank_before, 1), round(average_rank_after, 1)
      from visibility_change('fitness', '2026-09-22', '2026-09-29', in_tag => 'core', in_days => 7)
      where app_id = '${OWN}'`,
    answer: ({ fitness }) => {
      const lists = fitness.lists(IOS).filter((list) => list[0]?.tags.includes('core'))
      const { ranked } = weeks(lists, OWN)
      return [[round(mean(ranked.map((one) => one.before))), round(mean(ranked.map((one) => one.after)))]]
    },
  },
  {
    asks: '10. The week for the boss',
    on: 'command',
    by: ['digest', '--project', 'fitness', '--days', '7'],
    answer: ({ fitness }) => [
      new RegExp(`Visibility: [^\\n]*: ${round(visibility(fitness.lists(IOS), LAST, OWN)).toFixed(1)} %`),
    ],
  },
  {
    asks: '11. iOS and Android for the same keyword and country of the same product',
    on: 'page',
    by: `select i.keyword, i.rank, a.rank from rank_daily('fitness', '${LAST}', '${LAST}') i
      join rank_daily('fitness', '${LAST}', '${LAST}') a using (keyword, location)
      where i.app_id = '${OWN}' and a.app_id = '${OWN_ANDROID}'`,
    answer: ({ fitness }) =>
      fitness.lists('android_store').flatMap((list) => {
        const [{ keyword = '', place = 0 } = {}] = list
        const ios = fitness.of({ store: IOS, keyword, place })
        return ios.length === 0 ? [] : [[keyword, rankOf(ios, LAST, OWN), rankOf(list, LAST, OWN_ANDROID)]]
      }),
  },
  {
    asks: '12. Did the rating fall, and did ranks follow?',
    on: 'command',
    // The story: 3.3.0 takes three stars from new reviews, by a hundredth of which the rating falls each day
    // from the 23rd on: 4.59 on the 22nd, and on the 29th, a day after 3.3.1, 4.47.
    by: `select rating_before, rating_after, change < 0 from impact('fitness', '2026-09-23', '${OWN}')`,
    answer: () => [[4.59, 4.47, true]],
  },
  {
    asks: '13. When did we first rank for a keyword, and first in the top 10?',
    on: 'sql',
    by: `select min(day)::text, (min(day) filter (where rank <= 10))::text
      from rank_daily('fitness', '${FIRST}', '${LAST}') where keyword = 'yoga' and app_id = '${RIVALS[2]}'
        and location_code = 2840 and rank is not null`,
    answer: ({ fitness }) => {
      const list = fitness.of({ store: IOS, keyword: 'yoga', place: 2840 })
      const first = (top: number) =>
        list.find(({ day }) => (rankOf(list, day, RIVALS[2] ?? '') ?? 999) <= top)
      return [[first(100)?.day, first(10)?.day]]
    },
  },
  {
    asks: '14. The chart rank of an app together with its keyword ranks',
    on: 'page',
    by: `select keyword, latest_rank from rank_summary('learning', '${FIRST}', '${LAST}')
      where app_id = 'com.numberwren.math' and list = 'keyword'`,
    answer: ({ learning }) =>
      learning
        .lists('android_store')
        .map((list) => [list[0]?.keyword, rankOf(list, LAST, 'com.numberwren.math')]),
  },
]
