/**
 * The places, languages and categories that the service knows: countries for both stores, and some states for
 * android_store; as it is sold, many regions and cities. Russia and Belarus are unsupported and therefore
 * stand in no list (spec: Reference records).
 */

import type { Deviations } from './deviations.ts'
import { hashText, mix, pick } from './hash.ts'
import type { Store } from './offers.ts'
import { NAME_STARTS } from './words.ts'

/** A location record as the locations list gives it. */
type Location = {
  location_code: number
  location_name: string
  location_name_parent: string | null
  country_iso_code: string
  location_type: 'Country' | 'State' | 'Region' | 'City'
}

/** Name, ISO 3166-1 letters and number. The location code is 2000 plus the number. */
const COUNTRIES = `
Afghanistan|AF|4; Albania|AL|8; Algeria|DZ|12; Angola|AO|24; Anguilla|AI|660;
Antigua and Barbuda|AG|28; Argentina|AR|32; Armenia|AM|51; Australia|AU|36; Austria|AT|40;
Azerbaijan|AZ|31; Bahamas|BS|44; Bahrain|BH|48; Barbados|BB|52; Belgium|BE|56; Belize|BZ|84;
Benin|BJ|204; Bermuda|BM|60; Bhutan|BT|64; Bolivia|BO|68; Bosnia and Herzegovina|BA|70; Botswana|BW|72;
Brazil|BR|76; British Virgin Islands|VG|92; Brunei|BN|96; Bulgaria|BG|100; Burkina Faso|BF|854;
Cabo Verde|CV|132; Cambodia|KH|116; Cameroon|CM|120; Canada|CA|124; Cayman Islands|KY|136; Chad|TD|148;
Chile|CL|152; China|CN|156; Colombia|CO|170; Costa Rica|CR|188; Cote d'Ivoire|CI|384; Croatia|HR|191;
Cyprus|CY|196; Czechia|CZ|203; Democratic Republic of the Congo|CD|180; Denmark|DK|208;
Dominica|DM|212; Dominican Republic|DO|214; Ecuador|EC|218; Egypt|EG|818; El Salvador|SV|222;
Estonia|EE|233; Eswatini|SZ|748; Fiji|FJ|242; Finland|FI|246; France|FR|250; Gabon|GA|266;
Gambia|GM|270; Georgia|GE|268; Germany|DE|276; Ghana|GH|288; Greece|GR|300; Grenada|GD|308;
Guatemala|GT|320; Guinea-Bissau|GW|624; Guyana|GY|328; Honduras|HN|340; Hong Kong|HK|344;
Hungary|HU|348; Iceland|IS|352; India|IN|356; Indonesia|ID|360; Iraq|IQ|368; Ireland|IE|372;
Israel|IL|376; Italy|IT|380; Jamaica|JM|388; Japan|JP|392; Jordan|JO|400; Kazakhstan|KZ|398;
Kenya|KE|404; Kuwait|KW|414; Kyrgyzstan|KG|417; Laos|LA|418; Latvia|LV|428; Lebanon|LB|422;
Liberia|LR|430; Libya|LY|434; Lithuania|LT|440; Luxembourg|LU|442; Macao|MO|446; Madagascar|MG|450;
Malawi|MW|454; Malaysia|MY|458; Maldives|MV|462; Mali|ML|466; Malta|MT|470; Mauritania|MR|478;
Mauritius|MU|480; Mexico|MX|484; Micronesia|FM|583; Moldova|MD|498; Mongolia|MN|496; Montenegro|ME|499;
Montserrat|MS|500; Morocco|MA|504; Mozambique|MZ|508; Myanmar|MM|104; Namibia|NA|516; Nauru|NR|520;
Nepal|NP|524; Netherlands|NL|528; New Zealand|NZ|554; Nicaragua|NI|558; Niger|NE|562; Nigeria|NG|566;
North Macedonia|MK|807; Norway|NO|578; Oman|OM|512; Pakistan|PK|586; Palau|PW|585; Panama|PA|591;
Papua New Guinea|PG|598; Paraguay|PY|600; Peru|PE|604; Philippines|PH|608; Poland|PL|616;
Portugal|PT|620; Qatar|QA|634; Republic of the Congo|CG|178; Romania|RO|642; Rwanda|RW|646;
Saint Kitts and Nevis|KN|659; Saint Lucia|LC|662; Saint Vincent and the Grenadines|VC|670;
Sao Tome and Principe|ST|678; Saudi Arabia|SA|682; Senegal|SN|686; Serbia|RS|688; Seychelles|SC|690;
Sierra Leone|SL|694; Singapore|SG|702; Slovakia|SK|703; Slovenia|SI|705; Solomon Islands|SB|90;
South Africa|ZA|710; South Korea|KR|410; Spain|ES|724; Sri Lanka|LK|144; Suriname|SR|740;
Sweden|SE|752; Switzerland|CH|756; Taiwan|TW|158; Tajikistan|TJ|762; Tanzania|TZ|834; Thailand|TH|764;
Tonga|TO|776; Trinidad and Tobago|TT|780; Tunisia|TN|788; Turkey|TR|792; Turkmenistan|TM|795;
Turks and Caicos Islands|TC|796; Uganda|UG|800; Ukraine|UA|804; United Arab Emirates|AE|784;
United Kingdom|GB|826; United States|US|840; Uruguay|UY|858; Uzbekistan|UZ|860; Vanuatu|VU|548;
Venezuela|VE|862; Vietnam|VN|704; Yemen|YE|887; Zambia|ZM|894; Zimbabwe|ZW|716`
  .split(';')
  .map((entry): Location => {
    const [name = '', iso = '', number = ''] = entry.trim().split('|')
    return {
      location_code: 2000 + Number(number),
      location_name: name,
      location_name_parent: null,
      country_iso_code: iso,
      location_type: 'Country',
    }
  })

const inside = (parent: Location, name: string, code: number, type: Location['location_type']): Location => ({
  location_code: code,
  location_name: `${name},${parent.location_name}`,
  location_name_parent: parent.location_name,
  country_iso_code: parent.country_iso_code,
  location_type: type,
})

/** States, by country letters, location code and name. */
const STATES = `US 21137 California, US 21142 Florida, US 21167 New York, US 21176 Texas, DE 20227 Bavaria,
GB 20339 England, GB 20341 Scotland, CA 20121 Ontario`
  .split(/,\s/)
  .flatMap((entry) => {
    const [iso = '', code = '', ...words] = entry.split(' ')
    const country = COUNTRIES.find(({ country_iso_code }) => country_iso_code === iso)
    return country ? inside(country, words.join(' '), Number(code), 'State') : []
  })

/** Regions and cities are invented: with them the list of the android_store has about 100,000 rows. */
const REGIONS_PER_COUNTRY = 20
const CITIES_PER_REGION = 28
const FIRST_REGION_CODE = 9_000_000
const FIRST_CITY_CODE = 1_000_000
const PLACE_ENDS = ['burgh', 'ville', 'ford', 'stadt', 'haven', 'bridge', 'field', 'mouth'] as const

/** Places with the same parent; their codes go on from `first`. */
const inventPlaces = (parent: Location, count: number, first: number, type: 'Region' | 'City'): Location[] =>
  Array.from({ length: count }, (_, nth) => {
    const code = first + nth
    const name = pick(NAME_STARTS, mix(code, 0)) + pick(PLACE_ENDS, mix(code, 1))
    return inside(parent, `${name} ${nth + 1}`, code, type)
  })

const inventAll = (): Location[] =>
  COUNTRIES.flatMap((country, number) => {
    const before = number * REGIONS_PER_COUNTRY
    const regions = inventPlaces(country, REGIONS_PER_COUNTRY, FIRST_REGION_CODE + before, 'Region')
    return regions.flatMap((region, index) => {
      const firstCity = FIRST_CITY_CODE + (before + index) * CITIES_PER_REGION
      return [region, ...inventPlaces(region, CITIES_PER_REGION, firstCity, 'City')]
    })
  })

/** The places of a list, by code and by name. */
const index = (list: readonly Location[]) => ({
  list,
  byCode: new Map(list.map((location) => [location.location_code, location])),
  byName: new Map(list.map((location) => [location.location_name, location])),
})

const onlyCountries = index(COUNTRIES)
const withStates = index([...COUNTRIES, ...STATES])
let many: typeof withStates | undefined

/** The locations of a store, also by code and by full name. ios_store knows countries only. */
export const placesOf = (store: Store, deviations: Deviations) => {
  if (store === 'ios_store') return onlyCountries
  if (!deviations.has('many-locations')) return withStates
  many ??= index([...COUNTRIES, ...STATES, ...inventAll()])
  return many
}

/** The letters of the country that a location lies in. */
export const findCountry = (locationCode: number): string =>
  (withStates.byCode.get(locationCode) ?? many?.byCode.get(locationCode))?.country_iso_code ?? 'US'

/** What one US dollar shows as in the stores of a country: the currency and the store's own rate. */
const CURRENCIES: Record<string, readonly [currency: string, perDollar: number]> = {
  GB: ['GBP', 1],
  JP: ['JPY', 150],
  CA: ['CAD', 1.4],
  AU: ['AUD', 1.6],
  BR: ['BRL', 5],
  IN: ['INR', 90],
  CH: ['CHF', 1],
}
const EURO_COUNTRIES = ['AT', 'BE', 'DE', 'ES', 'FI', 'FR', 'GR', 'IE', 'IT', 'NL', 'PT']

/** Currency of a location, and what a dollar is worth in it; other countries pay in US dollars. */
export const findCurrency = (locationCode: number): readonly [currency: string, perDollar: number] => {
  const country = findCountry(locationCode)
  return EURO_COUNTRIES.includes(country) ? ['EUR', 1] : (CURRENCIES[country] ?? ['USD', 1])
}

const readLanguages = (names: string) =>
  names.split(',').map((entry) => {
    const [language_code = '', ...words] = entry.trim().split(' ')
    return { language_name: words.join(' '), language_code }
  })

const LANGUAGES = readLanguages(`
af Afrikaans, am Amharic, ar Arabic, az Azerbaijani, bg Bulgarian, bn Bengali, bs Bosnian, ca Catalan,
cs Czech, da Danish, de German, el Greek, en English, es Spanish, et Estonian, fa Persian, fi Finnish,
fr French, gu Gujarati, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian,
is Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh, km Khmer, kn Kannada, ko Korean, lo Lao,
lt Lithuanian, lv Latvian, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay, my Burmese,
ne Nepali, nl Dutch, no Norwegian, pa Punjabi, pl Polish, pt Portuguese, ro Romanian, ru Russian,
si Sinhala, sk Slovak, sl Slovenian, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil,
te Telugu, th Thai, tl Tagalog, tr Turkish, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, zh Chinese,
zu Zulu`)

/** As it is sold, the android_store tells some languages apart by region. */
const ANDROID_LANGUAGES = [
  ...LANGUAGES.filter(({ language_code }) => language_code !== 'zh'),
  ...readLanguages(`zh-CN Chinese (Simplified), zh-TW Chinese (Traditional), es-419 Spanish (Latin America),
    pt-BR Portuguese (Brazil), fr-CA French (Canada)`),
]

/** The languages list of a store. */
export const listLanguages = (store: Store, deviations: Deviations) =>
  store === 'android_store' && deviations.has('languages') ? ANDROID_LANGUAGES : LANGUAGES

// Categories (spec: Reference records).

const ANDROID = `art_and_design auto_and_vehicles beauty books_and_reference business comics communication
dating education entertainment events finance food_and_drink health_and_fitness house_and_home
libraries_and_demo lifestyle maps_and_navigation medical music_and_audio news_and_magazines parenting
personalization photography productivity shopping social sports tools travel_and_local video_players
android_wear watch_face weather game game_action game_adventure game_arcade game_board game_card
game_casino game_casual game_educational game_music game_puzzle game_racing game_role_playing
game_simulation game_sports game_strategy game_trivia game_word family`

const IOS = `books business catalogs education entertainment finance food_and_drink games games_action
games_adventure games_arcade games_board games_card games_casino games_dice games_educational games_family
games_music games_puzzle games_racing games_role_playing games_simulation games_sports games_strategy
games_trivia games_word health_and_fitness lifestyle magazines_and_newspapers magazines_arts
magazines_automotive magazines_weddings magazines_business magazines_children magazines_computer
magazines_food magazines_crafts magazines_electronics magazines_entertainment magazines_fashion
magazines_health magazines_history magazines_home magazines_literary magazines_men
magazines_movies_and_music magazines_politics magazines_outdoors magazines_family magazines_pets
magazines_professional magazines_regional magazines_science magazines_sports magazines_teens
magazines_travel magazines_women medical music navigation news photo_and_video productivity reference
shopping social_networking sports travel utilities weather`

/** The categories list of each store. */
export const CATEGORIES: Record<Store, readonly string[]> = {
  ios_store: IOS.split(/\s+/),
  android_store: ANDROID.split(/\s+/),
}

/** Art & Design for art_and_design. */
export const nameCategory = (category: string): string =>
  category
    .split('_')
    .map((word) => (word === 'and' ? '&' : word.charAt(0).toUpperCase() + word.slice(1)))
    .join(' ')

/** The categories of the app listings of a store, with the number of listings in each, which is invented. */
export const listListingCategories = (store: Store) =>
  CATEGORIES[store].map((category) => ({
    category: nameCategory(category),
    count: 900 + (hashText(category) % 120_000),
  }))
