"""A wide and deep classifier of a table in a CSV file, with feature columns of every common kind."""

import csv
import itertools

import numpy as np
import tensorflow as tf

COLUMNS = ["age", "hours", "education", "occupation", "relationship", "income"]
DEFAULTS = [[0], [0.0], [""], [""], [""], [""]]
EDUCATION = ["school", "college", "masters"]
JOBS = ["farming", "sales", "tech", "exec"]
tf.logging.set_verbosity(tf.logging.ERROR)


def write(path, count, seed):
    rng = np.random.RandomState(seed)
    with open(path, "w") as file:
        writer = csv.writer(file)
        for _ in range(count):
            age, hours = rng.randint(18, 75), round(float(rng.uniform(10, 60)), 1)
            education, job = rng.randint(3), rng.randint(4)
            relation = ["single", "married", "other"][rng.randint(3)]
            points = education + 0.7 * job + (hours > 35) + (30 < age < 60) - 1.5 * (education == 0 and job == 3)
            label = ">50K" if points + rng.normal(0, 0.3) > 3.2 else "<=50K"
            writer.writerow([age, hours, EDUCATION[education], JOBS[job], relation, label])


def parse(line):
    features = dict(zip(COLUMNS, tf.decode_csv(line, record_defaults=DEFAULTS)))
    labels = features.pop("income")
    return features, tf.equal(labels, ">50K")


def input_fn(path, epochs, shuffle, batch_size):
    dataset = tf.data.TextLineDataset(path)
    if shuffle:
        dataset = dataset.shuffle(buffer_size=400, seed=1)
    return dataset.map(parse).repeat(epochs).batch(batch_size).prefetch(1)


age = tf.feature_column.numeric_column("age")
hours = tf.feature_column.numeric_column("hours", normalizer_fn=lambda x: (x - 35.0) / 15.0)
education = tf.feature_column.categorical_column_with_vocabulary_list("education", EDUCATION)
occupation = tf.feature_column.categorical_column_with_hash_bucket("occupation", hash_bucket_size=50)
relationship = tf.feature_column.categorical_column_with_vocabulary_list("relationship", ["single", "married"])
ages = tf.feature_column.bucketized_column(age, boundaries=[25, 30, 40, 50, 60])
wide = [
    *[education, occupation, relationship, ages],
    tf.feature_column.crossed_column(["education", "occupation"], hash_bucket_size=100),
    tf.feature_column.crossed_column([ages, "education"], hash_bucket_size=100),
]
deep = [
    hours,
    tf.feature_column.indicator_column(education),
    tf.feature_column.indicator_column(relationship),
    tf.feature_column.embedding_column(occupation, dimension=4),
    ages,
]
write("train.csv", 400, 0)
write("test.csv", 200, 1)
model = tf.estimator.DNNLinearCombinedClassifier(
    model_dir="census",
    linear_feature_columns=wide,
    dnn_feature_columns=deep,
    dnn_hidden_units=[16, 8],
    dnn_optimizer=tf.train.AdagradOptimizer(0.1),
    config=tf.estimator.RunConfig(tf_random_seed=1, save_summary_steps=None, log_step_count_steps=None),
)
model.train(lambda: input_fn("train.csv", 8, True, 40))
found = model.evaluate(lambda: input_fn("test.csv", 1, False, 50))
assert found["global_step"] == 80
assert found["accuracy"] > found["accuracy_baseline"] + 0.1 and found["auc"] > 0.85, found

predicted = list(itertools.islice(model.predict(lambda: input_fn("test.csv", 1, False, 50)), 5))
assert sorted(predicted[0]) == [
    "all_class_ids",
    "all_classes",
    "class_ids",
    "classes",
    "logistic",
    "logits",
    "probabilities",
]
for each in predicted:
    assert each["classes"][0] in (b"0", b"1") and each["class_ids"][0] == int(each["probabilities"][1] > 0.5)
    np.testing.assert_allclose(each["probabilities"].sum(), 1, rtol=1e-5)
names = model.get_variable_names()
assert "linear/linear_model/education/weights" in names and "dnn/hiddenlayer_0/kernel" in names
weights = model.get_variable_value("linear/linear_model/education/weights").ravel()
assert weights.argmax() == 2, weights

# The exported model reads serialized examples.
spec = tf.feature_column.make_parse_example_spec(wide + deep)
assert spec["age"] == tf.FixedLenFeature((1,), tf.float32) and isinstance(spec["education"], tf.VarLenFeature)
folder = model.export_savedmodel("export", tf.estimator.export.build_parsing_serving_input_receiver_fn(spec))
predict = tf.contrib.predictor.from_saved_model(folder)
example = tf.train.Example()
example.features.feature["age"].float_list.value.append(45)
example.features.feature["hours"].float_list.value.append(50)
for name, value in (("education", b"masters"), ("occupation", b"exec"), ("relationship", b"other")):
    example.features.feature[name].bytes_list.value.append(value)
scores = predict({"inputs": [example.SerializeToString()]})["scores"]
assert scores.shape == (1, 2) and scores[0, 1] > 0.7, scores
results = {"accuracy": float(found["accuracy"]), "auc": float(found["auc"]), "score": float(scores[0, 1])}
