"""Files that list checkpoints, from another machine or from someone else: what they may cause to be deleted."""

import thalweg as tf


def saved(path):
    """Writes a checkpoint."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        return tf.train.Saver([v]).save(session, str(path), write_meta_graph=False, write_state=False)


def state_of(folder, *paths):
    lines = [f'model_checkpoint_path: "{paths[-1]}"', *(f'all_model_checkpoint_paths: "{path}"' for path in paths)]
    lines += [f"all_model_checkpoint_timestamps: {number + 2}" for number in range(len(paths))]
    (folder / "checkpoint").write_text("\n".join([*lines, "last_preserved_timestamp: 1"]))


def files_of(prefix):
    return sorted(path.name for path in prefix.parent.glob(f"{prefix.name}.*"))


def test_a_manager_deletes_no_checkpoint_of_another_folder(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "other").mkdir()
    other, own = tmp_path / "other" / "precious", tmp_path / "own" / "ckpt-1"
    saved(other)
    saved(own)
    before = files_of(other)
    state_of(tmp_path / "own", other, "../other/precious", "ckpt-1")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=2.0)
        session.run(v.initializer)
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(tmp_path / "own"), max_to_keep=1)
        assert manager.checkpoints == [str(own)]
        manager.save(2)
        manager.save(3)
    assert files_of(other) == before and files_of(own) == []


def test_a_session_deletes_no_checkpoint_of_another_folder(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "other").mkdir()
    other, own = tmp_path / "other" / "precious", tmp_path / "own" / "model-1"
    saved(other)
    saved(own)
    before = files_of(other)
    state_of(tmp_path / "own", other, own)
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=2.0)
        saver = tf.train.Saver([v], max_to_keep=1)
        session = tf.train.SessionManager(local_init_op=tf.no_op()).prepare_session(
            "", saver=saver, checkpoint_dir=str(tmp_path / "own"), init_op=v.initializer
        )
        with session:
            assert saver.last_checkpoints == [str(own)] and session.run(v) == 1
            saver.save(session, str(tmp_path / "own" / "model"), 2)
            saver.save(session, str(tmp_path / "own" / "model"), 3)
    assert files_of(other) == before and files_of(own) == []
