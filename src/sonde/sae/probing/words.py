"""Words for sparse probing: those that have a concept, and others that are like them but for it."""

from typing import Final

SENTENCES: Final = (
    "Yesterday they spoke about",
    "In the end it was",
    "The next line says",
)
"""What stands before a word, with nothing in it of any concept."""

CONCEPTS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "female name": (
        ("Mary", "Anna", "Laura", "Emma", "Sarah", "Julia", "Alice", "Helen", "Jane", "Linda",
         "Susan", "Karen", "Lisa", "Maria", "Rachel", "Emily", "Grace", "Rebecca", "Amy", "Diana",
         "Sophia", "Martha", "Carol", "Nancy"),
        ("John", "Peter", "Michael", "David", "James", "Robert", "Thomas", "Daniel", "Mark", "Paul",
         "George", "Kevin", "Brian", "Steven", "Edward", "Henry", "Simon", "Richard", "Frank",
         "Martin", "Walter", "Arthur", "Roger", "Philip"),
    ),
    "country": (
        ("France", "Spain", "Germany", "Italy", "Japan", "China", "India", "Brazil", "Canada",
         "Mexico", "Egypt", "Turkey", "Greece", "Poland", "Sweden", "Norway", "Russia", "Peru",
         "Kenya", "Nigeria", "Ireland", "Portugal", "Chile", "Iran"),
        ("Paris", "Madrid", "Berlin", "Rome", "Tokyo", "Beijing", "Delhi", "Chicago", "Toronto",
         "Boston", "Cairo", "Istanbul", "Athens", "Warsaw", "Stockholm", "Oslo", "Moscow", "Lima",
         "Nairobi", "Lagos", "Dublin", "Lisbon", "Seattle", "Dallas"),
    ),
    "animal": (
        ("dog", "cat", "horse", "cow", "sheep", "lion", "tiger", "bear", "wolf", "rabbit", "mouse",
         "snake", "frog", "eagle", "duck", "goat", "monkey", "elephant", "whale", "shark", "bee",
         "spider", "turtle", "deer"),
        ("hammer", "table", "chair", "bottle", "knife", "ladder", "window", "bucket", "pencil",
         "engine", "rope", "lamp", "basket", "mirror", "blanket", "wheel", "needle", "pillow",
         "shovel", "candle", "kettle", "carpet", "drawer", "button"),
    ),
    "praise": (
        ("wonderful", "excellent", "great", "beautiful", "brilliant", "perfect", "pleasant",
         "delightful", "superb", "amazing", "good", "fantastic", "lovely", "splendid", "charming",
         "happy", "kind", "generous", "graceful", "honest", "brave", "clever", "elegant", "sweet"),
        ("terrible", "awful", "bad", "ugly", "stupid", "horrible", "nasty", "dreadful", "poor",
         "disgusting", "miserable", "cruel", "boring", "selfish", "rude", "sad", "lazy", "bitter",
         "clumsy", "dishonest", "foolish", "violent", "worthless", "angry"),
    ),
    "plural": (
        ("books", "cars", "houses", "trees", "rivers", "doors", "letters", "stones", "birds",
         "shoes", "songs", "roads", "clouds", "boats", "keys", "games", "pictures", "flowers",
         "teachers", "doctors", "ideas", "stories", "numbers", "villages"),
        ("book", "car", "house", "tree", "river", "door", "letter", "stone", "bird", "shoe", "song",
         "road", "cloud", "boat", "key", "game", "picture", "flower", "teacher", "doctor", "idea",
         "story", "number", "village"),
    ),
    "past tense": (
        ("walked", "talked", "opened", "jumped", "looked", "played", "worked", "turned", "called",
         "helped", "wanted", "moved", "started", "carried", "watched", "asked", "lived", "showed",
         "stopped", "cooked", "cleaned", "painted", "answered", "smiled"),
        ("walks", "talks", "opens", "jumps", "looks", "plays", "works", "turns", "calls", "helps",
         "wants", "moves", "starts", "carries", "watches", "asks", "lives", "shows", "stops",
         "cooks", "cleans", "paints", "answers", "smiles"),
    ),
}  # fmt: skip
"""A word and its counterpart stand at the same place of both lists: both are held out, or neither
is."""
