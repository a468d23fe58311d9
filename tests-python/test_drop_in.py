"""In the places where people use other clusterers."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dirigent import DirichletProcessMixture

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def sentences():
    texts = (DATA / "sentences.txt").read_text(encoding="utf-8").splitlines()
    topics = (DATA / "sentence_topics.txt").read_text(encoding="utf-8").splitlines()
    return texts, np.array(topics), np.load(DATA / "sentence_embeddings.npy")


def test_in_a_pipeline(heaps):
    X, truth = heaps
    pipeline = make_pipeline(StandardScaler(), PCA(2), DirichletProcessMixture(random_state=0))
    labels = pipeline.fit_predict(X)
    assert adjusted_rand_score(truth, labels) > 0.98
    np.testing.assert_array_equal(pipeline.predict(X), labels)
    assert pipeline.score(X) == pytest.approx(pipeline[-1].score(pipeline[:-1].transform(X)))


@pytest.mark.parametrize("parameters", [{}, {"pca": 10}, {"pca": 5}])
def test_topics_of_real_sentence_embeddings(sentences, parameters):
    _, topics, embeddings = sentences
    model = DirichletProcessMixture(random_state=0, **parameters).fit(embeddings)
    # of 8 topics, sentences made from the same pattern are more alike than the rest
    assert 6 <= model.n_components_ <= 20
    assert normalized_mutual_info_score(topics, model.labels_) > 0.85


class Topics:
    """What BERTopic does: embeddings made narrower, clustered by a model with fit, labels_ and predict, and words counted by cluster (c-TF-IDF)."""

    def __init__(self, reduce, cluster):
        self.reduce, self.cluster = reduce, cluster

    def fit_transform(self, texts, embeddings):
        self.cluster.fit(self.reduce.fit_transform(embeddings))
        labels = self.cluster.labels_
        self.vectorizer = CountVectorizer(stop_words="english")
        documents = [" ".join(text for text, label in zip(texts, labels) if label == k) for k in range(labels.max() + 1)]
        counts = self.vectorizer.fit_transform(documents).toarray()
        self.weights = counts * np.log1p(counts.sum() / counts.shape[0] / counts.sum(axis=0))
        return labels

    def transform(self, embeddings):
        return self.cluster.predict(self.reduce.transform(embeddings))

    def words(self, label, n=5):
        return list(self.vectorizer.get_feature_names_out()[np.argsort(-self.weights[label])[:n]])


def test_as_the_cluster_model_of_a_topic_model(sentences):
    texts, topics, embeddings = sentences
    flow = Topics(PCA(10, random_state=0), DirichletProcessMixture(random_state=0))
    labels = flow.fit_transform(texts, embeddings.astype(np.float32))
    assert normalized_mutual_info_score(topics, labels) > 0.85
    # the cluster that has most of the cooking sentences speaks of cooking
    cooking = np.bincount(labels[topics == "cooking"]).argmax()
    assert set(flow.words(cooking, 15)) & {"simmer", "roast", "tastes", "garlic", "thyme", "butter", "soup", "stew", "lentils"}
    np.testing.assert_array_equal(flow.transform(embeddings[:20].astype(np.float32)), labels[:20])


def test_bertopic_finds_what_it_looks_for(heaps):
    """BERTopic takes any clusterer with `fit`, `predict`, `labels_` and, for its probabilities, `probabilities_`."""
    X, _ = heaps
    model = DirichletProcessMixture(random_state=0)
    assert not hasattr(model, "probabilities_")
    model.fit(X)
    assert model.probabilities_ is model.certainty_
    assert model.predict(X).shape == model.labels_.shape
