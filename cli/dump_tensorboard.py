"""dump_tensorboard.py LINES FOLDER: writes an event file of scalars, {"tag", "step", "value", "time"} a line, by the tensorboard package."""
import json
import sys

try:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ImportError as error:
    print(error)
    sys.exit(3)

writer = EventFileWriter(sys.argv[2])
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        scalar = json.loads(line)
        value = Summary.Value(tag=scalar["tag"], simple_value=scalar["value"])
        writer.add_event(Event(step=scalar["step"], wall_time=scalar["time"], summary=Summary(value=[value])))
writer.close()
