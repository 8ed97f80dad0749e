/** From what the stores are invented: what apps are about, the flagship apps, and the syllables of names. */

import { pick } from './hash.ts'
import { tokenize } from './keyword.ts'
import type { Store } from './offers.ts'

/** A `heads` word finds all apps of a topic, a `narrow` word some of them; `phrases` make titles. */
export type Topic = (typeof TOPICS)[number]

/** ios category android category | heads | narrow | phrases */
const TOPICS_TABLE = `
health_and_fitness health_and_fitness | yoga asana ヨガ 🧘 瑜伽 | vinyasa hatha pilates flexibility
  stretch poses flow prenatal chair | Yoga for Beginners, Daily Yoga Flow, Yoga & Stretch, Morning
  Yoga, Chair Yoga at Home, Yoga Poses, Hatha Yoga Studio, Yoga Class
health_and_fitness health_and_fitness | meditation meditate mindfulness calm 瞑想 meditacion |
  breathing relax zen anxiety stress mantra chakra gratitude | Guided Meditation, Calm Mind,
  Mindfulness Daily, Meditation & Breathing, Meditate Now, Relax & Breathe, Stress Relief
health_and_fitness health_and_fitness | fitness workout gym exercise 筋トレ 🏋 💪 | abs cardio hiit
  strength dumbbell trainer bodybuilding plank squat | Home Workout, Fitness Coach, Gym Log, HIIT
  Workout, Strength Training, 30 Day Fitness, Abs Workout, Workout Planner
health_and_fitness health_and_fitness | running run jogging marathon ランニング 🏃 | 5k 10k pace
  treadmill couch interval tracker | Running Tracker, Run Coach, Couch to 5K, Marathon Training, Running
  Distance, Jogging Log
health_and_fitness health_and_fitness | sleep insomnia snoring 睡眠 💤 | white noise rain sounds
  lullaby dream alarm cycle | Sleep Sounds, Sleep Tracker, White Noise, Better Sleep, Snoring Log,
  Sleep Cycle Alarm
health_and_fitness health_and_fitness | diet calorie nutrition weight fasting keto ダイエット | macro
  carb vegan intermittent loss meal bmi | Calorie Counter, Fasting Timer, Keto Diet, Weight Loss
  Coach, Nutrition Diary, Meal Plan
medical medical | medication pill doctor health symptom 医療 | blood pressure glucose pulse migraine
  pregnancy period vaccine | Pill Reminder, Blood Pressure Log, Health Diary, Symptom Checker, Glucose
  Tracker, Ask a Doctor
finance finance | budget budgeting expense money spending 家計簿 💰 | bill envelope household allowance
  subscription debt saving | Budget Planner, Expense Tracker, Money Manager, Spending Log, Household
  Budget, Bill Reminder, Budgeting Made Simple
finance finance | bank stock investing crypto trading wallet 投資 | dividend portfolio forex etf
  bitcoin chart broker | Stock Market Live, Investing for All, Crypto Wallet, Trading Charts,
  Portfolio Tracker, Mobile Bank
education education | math maths mathematics arithmetic algebra 算数 数学 mathe | multiplication
  fractions geometry times tables addition subtraction counting calculus | Math for Kids, Times
  Tables, Maths Practice, Math Games, Algebra Tutor, Mental Arithmetic, Multiplication Quiz
education education | language japanese english spanish french german 日本語 英語 语言 한국어 |
  kanji vocabulary grammar phrasebook hiragana verbs conversation flashcards | Learn Japanese, Learn
  English, Language Lessons, Spanish for Beginners, French Vocabulary, Learn German, Kanji Practice,
  Language Exchange
education education | coding programming code developer c++ python javascript c# プログラミング |
  compiler algorithm sql html swift kotlin rust ide | Learn C++, Coding for Kids, Python Playground,
  Programming Hub, Code Editor, JavaScript Tutor
education education | school homework study student exam 勉強 | quiz notes planner university
  flashcard grades timetable | Homework Helper, Study Planner, Exam Prep, School Timetable, Student
  Notes, Flashcards
education parenting | toddler preschool abc alphabet phonics baby 子供 | shapes colors tracing letters
  nursery rhymes | ABC for Toddlers, Preschool Learning, Alphabet Tracing, Phonics Fun, Baby Games
photo_and_video photography | photo photos selfie camera 写真 カメラ 📷 foto | filter collage retouch
  portrait lightroom preset background blur | Photo Editor, Selfie Camera, Photo Collage, Photo
  Filters, Background Eraser, Portrait Studio, Retouch Photo
photo_and_video video_players | video film movie 動画 🎬 | trim subtitle reels slideshow effects vlog
  player | Video Editor, Movie Maker, Video Player, Slideshow Maker, Reels Editor, Trim Video
entertainment art_and_design | drawing draw paint sketch coloring art 絵 🎨 | pixel canvas anime
  mandala brush animation | Drawing Pad, Paint by Number, Sketch Book, Coloring Pages, Pixel Art,
  Learn to Draw
music music_and_audio | music song audio radio 音楽 🎵 musik | playlist equalizer mp3 lyrics podcast
  stream | Music Player, Internet Radio, Offline Music, Song Lyrics, Music Stream, Podcast Player
music music_and_audio | guitar piano drum instrument tuner 🎸 🎹 | chords metronome ukulele violin
  sheet scales | Guitar Tuner, Learn Piano, Drum Machine, Chord Finder, Metronome, Piano Keys
games_puzzle game_puzzle | puzzle jigsaw brain logic パズル 🧩 | sudoku match merge block sliding
  nonogram escape | Puzzle Game, Block Puzzle, Jigsaw Puzzle, Brain Teasers, Logic Puzzle, Sudoku
  Classic, Merge Puzzle
games_word game_word | word crossword spelling anagram 単語 | scramble hangman letters vocabulary
  search | Word Search, Daily Crossword, Word Puzzle, Spelling Bee, Anagram Game
games_racing game_racing | racing car drift race motorbike レース 🏎 | rally kart nitro traffic drag
  parking | Car Racing, Drift Masters, Kart Race, Traffic Racer, Moto Race, Rally Game
games_card game_card | solitaire card poker cards トランプ | spider klondike blackjack rummy bridge
  freecell hearts | Solitaire Classic, Spider Solitaire, Card Game, Poker Night, Hearts & Spades
games_action game_action | shooter action battle zombie war sniper | fps royale ninja commando
  survival tank | Zombie Shooter, Battle Arena, Sniper Game, Tank War, Ninja Action
games_strategy game_strategy | strategy tower defense chess kingdom empire チェス | castle siege
  civilization tactics clans | Tower Defense, Chess Online, Kingdom Wars, Strategy Game, Empire
  Builder
games_role_playing game_role_playing | rpg dungeon fantasy hero dragon 冒険 | quest loot mage
  roguelike turn based | Dungeon Quest, Fantasy RPG, Idle Heroes, Dragon Saga, Role Playing Game
games_simulation game_simulation | simulator farm tycoon city builder 🚜 | tractor train pet hospital
  restaurant cooking idle | Farm Simulator, City Builder, Idle Tycoon, Cooking Simulator, Train
  Simulator
games_arcade game_arcade | arcade bubble runner jump endless | pinball snake brick ball retro
  platformer | Bubble Shooter, Endless Runner, Retro Arcade, Brick Breaker, Jump Game
games_trivia game_trivia | trivia quiz riddle 知識 | flags capitals history logo geography | Trivia
  Quiz, Flags Quiz, Logo Quiz, Riddles, Quiz Night
games_sports game_sports | football soccer basketball golf tennis cricket サッカー ⚽ | league penalty
  manager dunk bowling pool | Football Manager, Soccer Stars, Basketball Shots, Mini Golf, Tennis
  Clash Game
weather weather | weather forecast radar temperature 天気 ☀ wetter | storm hurricane rain uv widget
  barometer | Weather Forecast, Rain Radar, Local Weather, Storm Tracker, Weather Widget
navigation maps_and_navigation | map maps gps navigation route 地図 🗺 | speedometer offline compass
  traffic satellite altimeter | Offline Maps, GPS Navigation, Route Planner, Compass, Speedometer
travel travel_and_local | travel flight hotel trip booking 旅行 ✈ reise | itinerary airline cheap
  hostel visa luggage cruise | Trip Planner, Cheap Flights, Hotel Booking, Travel Guide, Flight
  Tracker
food_and_drink food_and_drink | recipe recipes cooking food kitchen レシピ 🍳 | baking vegan airfryer
  cocktail coffee dinner bread | Easy Recipes, Cooking Book, Meal Recipes, Baking Recipes, Kitchen
  Timer, Coffee Notes
shopping shopping | shopping coupon deals sale grocery 買い物 🛒 | discount cashback list fashion outlet
  secondhand | Shopping List, Coupons & Deals, Grocery List, Flash Sale, Fashion Outlet
social_networking social | chat social friends messenger community チャット 💬 | group stickers live
  video meet nearby | Chat & Meet, Messenger, Social Circle, Live Chat, Community Rooms
lifestyle dating | dating date singles love match 恋愛 ❤ | flirt nearby couples soulmate astrology |
  Dating Nearby, Meet Singles, Love Match, Couples Diary
news news_and_magazines | news newspaper headlines magazine ニュース 📰 | breaking local politics rss
  world | Breaking News, World Headlines, Local News, News Reader
books books_and_reference | book books reading ebook audiobook 読書 📚 novel | epub library manga
  poetry romance bible dictionary | Book Reader, Audiobooks, Ebook Library, Novel Stories, Reading Log
productivity productivity | todo tasks notes calendar planner メモ | checklist reminder habit pomodoro
  journal kanban widget | To Do List, Notes & Tasks, Calendar Planner, Habit Tracker, Daily Journal,
  Focus Timer
business business | invoice office document scanner pdf meeting 請求書 | signature spreadsheet fax crm
  payroll timesheet | PDF Scanner, Invoice Maker, Document Signer, Office Suite, Time Sheet
utilities tools | calculator flashlight cleaner vpn qr battery 電卓 🔦 | barcode unit converter
  keyboard storage speed wifi password | QR Scanner, VPN Shield, Calculator Plus, Phone Cleaner,
  Flashlight, Unit Converter
sports sports | scores live sport hiking cycling bike climbing 🚴 | trail fixtures results fantasy
  ski surf | Live Scores, Hiking Trails, Bike Computer, Sport Results, Cycling Log
lifestyle house_and_home | home interior garden plant cleaning 植物 🌱 | decor renovation furniture
  watering smart floor | Plant Care, Interior Design, Garden Planner, Cleaning Schedule, Smart Home
entertainment beauty | makeup hair beauty nails tattoo コスメ 💄 | hairstyle skincare salon perfume face
  | Makeup Studio, Hairstyle Try On, Nail Salon, Beauty Diary, Tattoo Ideas`

/** The cells of a table. A line that is set in goes on with the one above. */
export const readTable = (text: string): string[][] =>
  text
    .trim()
    .replaceAll('\n  ', ' ')
    .split('\n')
    .map((line) => line.split(' | '))

/** All topics; an app belongs to exactly one. */
export const TOPICS = readTable(TOPICS_TABLE).map(
  ([categories = '', heads = '', narrow = '', phrases = '']) => {
    const [ios_store = '', android_store = ''] = categories.split(' ')
    return {
      categories: { ios_store, android_store } satisfies Record<Store, string>,
      heads: heads.split(' '),
      narrow: narrow.split(' '),
      phrases: phrases.split(', '),
    }
  },
)

/**
 * A flagship app: invented, but the same in every sandbox, whatever its seed. It holds a place in every
 * ranking for its words, so that an example watchlist can name it and find it ranked.
 */
export type Anchor = (typeof ANCHORS)[number]

/** Every flagship app, in both stores. */
export const ANCHORS = readTable(`
1480010017 com.ashlune.yoga | Ashlune: Yoga for Everyone | Ashlune Works | yoga | 0 | 1 12 |
  yoga stretch asana pilates ヨガ 🧘
1480010025 com.stilmora.meditation | Stilmora – Meditation & Calm | Stilmora Studio | meditation | 0 |
  1 12 | meditation meditate mindfulness calm breathing anxiety naive 瞑想
1480010033 com.brindlefit.workout | Brindlefit: Home Workout | Brindlefit Inc. | fitness | 0 | 1 12 |
  workout fitness gym exercise hiit abs
1480010041 com.slowbarrow.fitnessdiary | Slowbarrow Fitness Diary | Slowbarrow Software | fitness | 0 |
  62 94 | yoga fitness workout gym exercise meditation running
1480010058 com.numberwren.math | Numberwren: Maths for Children | Numberwren Learning | math | 0 | 1 12 |
  math mathe mathematics arithmetic multiplication addition 算数
1480010066 com.penlarch.budget | Penlarch Budget Planner | Penlarch Ltd | budget | 0 | 1 12 |
  budget budgeting expense spending money 家計簿
1480010074 com.luminkite.photoeditor | Luminkite Photo Editor | Luminkite Digital | photo | 0 | 1 12 |
  photo foto collage filter selfie 写真 📷
1480010082 com.kotobrook.japanese | Kotobrook: Learn Japanese | Kotobrook GmbH | japanese | 0 | 1 12 |
  japanese language 日本語 kanji hiragana vocabulary
1480010090 com.tessarook.puzzle | Tessarook – Puzzle Game | Tessarook Games | puzzle | 0 | 1 12 |
  puzzle jigsaw logic brain block free パズル 🧩
1480010108 com.semicolonwharf.cpp | Semicolon Wharf: Learn C++ | Semicolon Wharf Labs | coding | 4.99 |
  1 12 | c++ coding programming compiler python`).map(
  ([ids = '', title = '', developer = '', topic = '', priceUsd, band = '', words = '']) => {
    const [ios_store = '', android_store = ''] = ids.split(' ')
    const [best = 0, worst = 0] = band.split(' ').map(Number)
    return {
      ids: { ios_store, android_store } satisfies Record<Store, string>,
      title,
      developer,
      /** A head word of the topic that it belongs to. */
      topic,
      priceUsd: Number(priceUsd),
      /** A search with one of these words ranks the app no better than `best`, and no worse than `worst`. */
      words: tokenize(words),
      best,
      worst,
    }
  },
)

/** Words that say nothing of an app: they add to others, and alone they find the well known. */
export const MODIFIERS =
  `free app apps best top new kids beginners offline online daily pro plus lite hd easy simple
fun 100 2026 2027 my game games play learn learning kostenlos gratis gratuit
無料 アプリ ゲーム`.split(/\s+/)

/** First and second halves of invented names. */
export const NAME_STARTS =
  `Zen Lum Ark Bril Cov Dun Elm Fenn Glim Hal Iv Jor Kel Lor Mir Nov Orl Pell Quill Ros Sol
Tam Ulm Vel Wren Xan Yar Zeph Amb Bay Cind Dov Ember Fable Gale Hark Iris Juni Kite Lark Maple Nimb Oak
Plum Quartz Rill Sable Thist Umber Vio Willow`.split(/\s+/)
const NAME_ENDS = `ora ium ley by ton wick field mark nest ly io ette ium ander ox ara ify elo una brook ster
loom stone leaf wave mint peak dash spark trail craft cove bloom lane`.split(/\s+/)
/** A name of two halves. */
export const inventName = (start: number, end: number): string =>
  pick(NAME_STARTS, start) + pick(NAME_ENDS, end)

export const COMPANY_ENDS =
  'Labs, Studio, Apps, Interactive, Software, Games, Digital, Works, GmbH, Inc., Ltd, Co.'.split(', ')
/** Additions to a title, most often none. */
export const TITLE_ENDS = ',,,, Pro, Plus, Lite, HD, – Offline, & Widget, for Kids, 2026'.split(',')
