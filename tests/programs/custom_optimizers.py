"""Optimizers that programs define themselves, from every level of the class: whole steps, rules, slots and wrappers."""

import re

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(21)
table_init = rng.normal(size=(6, 3)).astype(np.float32)
w_init = rng.normal(size=(3, 2)).astype(np.float32)
ids_data = np.array([0, 1, 1, 4])
y_data = rng.normal(size=(4, 2)).astype(np.float32)


class WeightDecay(tf.train.Optimizer):
    """Adam without bias correction, whose slots are variables of get_variable; replaces apply_gradients."""

    def __init__(self, rate, decay, skip=(), name="WeightDecay"):
        super(WeightDecay, self).__init__(False, name)
        self.rate = rate
        self.decay = decay
        self.skip = skip

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        updates = []
        for grad, variable in grads_and_vars:
            if grad is None:
                continue
            own_name = re.match("^(.*):\\d+$", variable.name).group(1)
            zeros = tf.zeros_initializer()
            sizes = variable.shape.as_list()
            m = tf.get_variable(own_name + "/m", sizes, dtype=tf.float32, trainable=False, initializer=zeros)
            v = tf.get_variable(own_name + "/v", sizes, dtype=tf.float32, trainable=False, initializer=zeros)
            next_m = tf.multiply(0.9, m) + tf.multiply(0.1, grad)
            next_v = tf.multiply(0.99, v) + tf.multiply(0.01, tf.square(grad))
            step = next_m / (tf.sqrt(next_v) + 1e-6)
            if not any(re.search(pattern, own_name) for pattern in self.skip):
                step += self.decay * variable
            updates.extend([variable.assign(variable - self.rate * step), m.assign(next_m), v.assign(next_v)])
        return tf.group(*updates, name=name)


class LargestSquares(tf.train.Optimizer):
    """AMSGrad: divides by the largest mean square so far; its powers are plain variables."""

    def __init__(self, learning_rate=0.05, beta1=0.9, beta2=0.99, use_locking=False, name="LargestSquares"):
        super(LargestSquares, self).__init__(use_locking, name)
        self._lr, self._beta1, self._beta2 = learning_rate, beta1, beta2
        self._power = None

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda x: x.name)
        if self._power is None or self._power.graph is not first.graph:
            with tf.colocate_with(first):
                self._power = tf.Variable(self._beta1, name="beta_power", trainable=False)
        for v in var_list:
            for slot in ("m", "v", "largest"):
                self._zeros_slot(v, slot, self._name)

    def _prepare(self):
        self._lr_t = tf.convert_to_tensor(self._call_if_callable(self._lr), name="learning_rate")
        self._beta1_t = tf.convert_to_tensor(self._beta1)
        self._beta2_t = tf.convert_to_tensor(self._beta2)

    def _moved(self, m_t, v_t, var):
        largest = self.get_slot(var, "largest")
        largest_t = tf.assign(largest, tf.maximum(v_t, largest), use_locking=self._use_locking)
        rate = self._lr_t / (1 - tf.cast(self._power, var.dtype.base_dtype))
        moved = tf.assign_sub(var, rate * m_t / (tf.sqrt(largest_t) + 1e-8), use_locking=self._use_locking)
        return tf.group(moved, m_t, v_t, largest_t)

    def _apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = tf.assign(m, self._beta1_t * m + (1 - self._beta1_t) * grad)
        v_t = tf.assign(v, self._beta2_t * v + (1 - self._beta2_t) * grad * grad)
        return self._moved(m_t, v_t, var)

    def _apply_sparse(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        with tf.control_dependencies([tf.assign(m, self._beta1_t * m)]):
            m_t = tf.scatter_add(m, grad.indices, (1 - self._beta1_t) * grad.values)
        with tf.control_dependencies([tf.assign(v, self._beta2_t * v)]):
            v_t = tf.scatter_add(v, grad.indices, (1 - self._beta2_t) * grad.values * grad.values)
        return self._moved(m_t, v_t, var)

    def _finish(self, update_ops, name_scope):
        with tf.control_dependencies(update_ops), tf.colocate_with(self._power):
            update = self._power.assign(self._power * self._beta1_t, use_locking=self._use_locking)
        return tf.group(*(update_ops + [update]), name=name_scope)


class OnePower(tf.train.AdamOptimizer):
    """AdaMax: an Adam with one power instead of two, and rules of its own."""

    def _get_beta_accumulators(self):
        return self._get_non_slot_variable("beta1_power", graph=tf.get_default_graph())

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda x: x.name)
        self._create_non_slot_variable(initial_value=self._beta1, name="beta1_power", colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = m.assign(self._beta1_t * m + (1 - self._beta1_t) * grad)
        v_t = v.assign(tf.maximum(self._beta2_t * v, tf.abs(grad)))
        return var.assign_sub(self._lr_t / (1 - self._get_beta_accumulators()) * m_t / (v_t + self._epsilon_t)).op

    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        m = self.get_slot(var, "m")
        rows = tf.gather(m, indices)
        moved = rows * self._beta1_t + grad * (1 - self._beta1_t)
        return tf.group(scatter_add(m, indices, moved - rows), scatter_add(var, indices, -self._lr_t * moved))

    def _finish(self, update_ops, name_scope):
        power = self._get_beta_accumulators()
        with tf.control_dependencies(update_ops), tf.colocate_with(power):
            update = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return tf.group(*(update_ops + [update]), name=name_scope)


class Clipped(tf.train.RMSPropOptimizer):
    """Clips each gradient, and notes what it was called with."""

    def compute_gradients(self, loss, **kwargs):
        self.received = sorted(kwargs)
        pairs = super(Clipped, self).compute_gradients(loss, **kwargs)
        return [(None if grad is None else tf.clip_by_norm(grad, 0.5), variable) for grad, variable in pairs]


class Slow(tf.train.MomentumOptimizer):
    """Keeps a slow average of each variable in a slot that starts at its initial value."""

    def _apply_dense(self, grad, var):
        slow = self._get_or_make_slot(var, var.initialized_value(), "slow", "Slow")
        with tf.control_dependencies([super(Slow, self)._apply_dense(grad, var)]):
            return slow.assign(0.5 * slow + 0.5 * var)


MAKERS = [
    ("decay", lambda: WeightDecay(0.05, 0.1, skip=["w$"])),
    ("largest", lambda: LargestSquares()),
    ("one_power", lambda: OnePower(0.05, name="AdaMax")),
    ("clipped", lambda: Clipped(0.02)),
    ("slow", lambda: Slow(0.05, 0.9)),
]
results = {}
for name, make in MAKERS:
    with tf.Graph().as_default():
        optimizer = make()
        table = tf.get_variable("table", initializer=table_init)
        w = tf.get_variable("w", initializer=w_init)
        tf.get_variable("unused", [2], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.embedding_lookup(table, ids_data), w) - y_data))
        if name == "decay":
            variables = tf.trainable_variables()
            grads = [g if g is None else tf.convert_to_tensor(g) for g in tf.gradients(loss, variables)]
            clipped, norm = tf.clip_by_global_norm(grads, 1.0)
            applied = optimizer.apply_gradients(zip(clipped, variables), global_step=step)
            train = tf.group(applied, [step.assign(step + 1)])
        else:
            train = optimizer.minimize(loss, global_step=step)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(6):
                sess.run(train)
            results[name] = sess.run([loss, table, w, step])
        results[name + " variables"] = sorted(v.op.name for v in tf.global_variables())
        results[name + " slots"] = list(optimizer.get_slot_names())
        results[name + " received"] = getattr(optimizer, "received", None)

NAMES = ["GradientDescent", "Momentum", "Adagrad", "Adadelta", "RMSProp", "Adam", "Ftrl", "ProximalAdagrad"]
results["bases"] = [getattr(tf.train, name + "Optimizer").__base__ is tf.train.Optimizer for name in NAMES]
