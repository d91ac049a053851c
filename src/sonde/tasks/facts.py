"""Facts: which city is a country's capital, and in which city a landmark stands."""

from itertools import permutations
from typing import Final

from sonde.schema.pair import PromptPair, RoleSpans
from sonde.tasks.task import Task, Variant

CITY: Final = {
    "France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Germany": "Berlin", "Japan": "Tokyo",
    "China": "Beijing", "Russia": "Moscow", "England": "London", "Ireland": "Dublin",
    "Scotland": "Edinburgh", "Portugal": "Lisbon", "Greece": "Athens", "Austria": "Vienna",
    "Poland": "Warsaw", "Sweden": "Stockholm", "Norway": "Oslo", "Denmark": "Copenhagen",
    "Finland": "Helsinki", "Hungary": "Budapest", "Belgium": "Brussels", "Egypt": "Cairo",
    "Iran": "Tehran", "Iraq": "Baghdad", "Syria": "Damascus", "Kenya": "Nairobi",
    "Cuba": "Havana", "Peru": "Lima", "Chile": "Santiago", "Canada": "Ottawa",
    "Australia": "Canberra", "Ukraine": "Kiev", "Bulgaria": "Sofia", "Afghanistan": "Kabul",
}  # fmt: skip
"""Countries and capitals of one token each in many vocabularies."""
CAPITAL_OF: Final = (
    "The capital of {} is the city of",
    "The government of {} has its seat in the capital,",
    "Everybody at school learned that the capital of {} is",
)

STANDS_IN: Final = (
    {
        "Big Ben": "London", "Kremlin": "Moscow", "Louvre": "Paris", "Tower Bridge": "London",
        "Acropolis": "Athens", "Blue Mosque": "Istanbul", "White House": "Washington",
        "Lincoln Memorial": "Washington", "Pantheon": "Rome", "Willis Tower": "Chicago",
        "British Museum": "London", "Tate Modern": "London", "Roman Forum": "Rome",
        "Plaza Mayor": "Madrid",
    },
    {
        "Eiffel Tower": "Paris", "Colosseum": "Rome", "Brandenburg Gate": "Berlin",
        "Notre Dame Cathedral": "Paris", "Prado Museum": "Madrid", "Parthenon": "Athens",
        "Hagia Sophia": "Istanbul", "Forbidden City": "Beijing", "Trevi Fountain": "Rome",
        "Reichstag": "Berlin", "Gateway of India": "Mumbai", "Moulin Rouge": "Paris",
    },
    {
        "Sagrada Familia": "Barcelona", "Tiananmen Square": "Beijing", "Rijksmuseum": "Amsterdam",
        "Bolshoi Theatre": "Moscow", "Wrigley Field": "Chicago", "Pompidou Centre": "Paris",
        "Trafalgar Square": "London",
    },
)  # fmt: skip
"""Those of one dictionary have as many tokens as each other in SmolLM2's vocabulary. Landmarks that
the default model cannot place, such as the Space Needle, are left out."""
IS_IN: Final = (
    "The {} is in the city of",
    "The {} is a famous sight in the city of",
    "Tourists who want to see the {} travel to the city of",
)


def _pair(template: str, role: str, things: tuple[str, str], cities: tuple[str, str]) -> PromptPair:
    return PromptPair(
        clean=template.format(things[0]),
        corrupt=template.format(things[1]),
        answer=f" {cities[0]}",
        foil=f" {cities[1]}",
        roles={role: RoleSpans(clean=f" {things[0]}", corrupt=f" {things[1]}")},
        cluster=f"{template.format('…')} {things[0]}",
    )


def _capital(template: str, countries: tuple[str, str]) -> PromptPair:
    one, other = countries
    return _pair(template, "country", countries, (CITY[one], CITY[other]))


def _landmark(template: str, places: tuple[tuple[str, str], tuple[str, str]]) -> PromptPair:
    (one, city), (other, elsewhere) = places
    return _pair(template, "landmark", (one, other), (city, elsewhere))


CAPITALS: Final = Task(
    "capitals",
    "A country has a capital.",
    (Variant("capitals", (CAPITAL_OF, tuple(permutations(CITY, 2))), _capital),),
)
LANDMARKS: Final = Task(
    "landmarks",
    "A landmark stands in a city.",
    (
        Variant(
            "landmarks",
            (
                IS_IN,
                tuple(
                    (one, other)
                    for alike in STANDS_IN
                    for one, other in permutations(alike.items(), 2)
                    if one[1] != other[1]
                ),
            ),
            _landmark,
        ),
    ),
)
