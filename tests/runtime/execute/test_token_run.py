"""Steps of unstructured control flow: a merge of branches that were switched separately."""

import thalweg as tf


def pick(value, case):
    """Returns the value times the number of the case that is chosen."""
    branches = [tf.raw_ops.Switch(data=value, pred=tf.equal(case, i))[1] * i for i in range(3)]
    return tf.raw_ops.Merge(inputs=branches)[0]


def test_step_takes_its_input_from_a_queue():
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[()])
    case = tf.placeholder(tf.int32, [])
    picked, picked_from_many = pick(queue.dequeue(), case), pick(queue.dequeue_many(1), case)
    with tf.Session() as sess:
        sess.run(queue.enqueue_many([[5, 7]]))
        assert sess.run(picked, {case: 2}) == 10
        assert sess.run(picked_from_many, {case: 1}).tolist() == [7]
