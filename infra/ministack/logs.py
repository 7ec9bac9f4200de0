"""What the functions logged, taken from the emulator's CloudWatch Logs."""

PLATFORM_LINES = ("START ", "END ", "REPORT ")


class FunctionLogs:
    """Appends new lines to a file. MiniStack writes one stream for each invocation, at its end."""

    def __init__(self, client, group, path):
        self.client, self.group, self.path = client, group, path
        self.seen, self.last_ms = set(), 0

    def collect(self):
        while True:
            events = self.client.filter_log_events(logGroupName=self.group, startTime=self.last_ms)["events"]
            fresh = [event for event in events if event["logStreamName"] not in self.seen]
            if not fresh:
                return
            self.seen |= {event["logStreamName"] for event in fresh}
            self.last_ms = fresh[-1]["timestamp"]
            with open(self.path, "a", encoding="utf-8") as log:
                for event in fresh:
                    if not event["message"].startswith(PLATFORM_LINES):
                        log.write(event["message"].rstrip("\n") + "\n")
