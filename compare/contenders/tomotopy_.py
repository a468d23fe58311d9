"""tomotopy's hierarchical Dirichlet process: a document is a mixture of topics; its label here is the largest of them."""

import numpy as np
from task import Contender, Found

ITERATIONS = 200


def load():
    import tomotopy

    def fit(task):
        model = tomotopy.HDPModel(seed=task.seed)
        counts = task.rows.tocsr()
        for row in range(counts.shape[0]):
            part = slice(counts.indptr[row], counts.indptr[row + 1])
            model.add_doc(np.repeat(counts.indices[part], counts.data[part].astype(int)).astype(str).tolist())
        model.train(ITERATIONS, workers=task.threads)
        return Found(np.array([int(np.argmax(document.get_topic_dist())) for document in model.docs]))

    return fit


CONTENDERS = [Contender("tomotopy HDP", "nothing", ("counts",), load)]
