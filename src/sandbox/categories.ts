/** The category values of each store (spec: Reference records). */

import { hashText } from './hash.ts'
import type { Store } from './offers.ts'

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
