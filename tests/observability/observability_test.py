#!/usr/bin/env python3
"""What operators build on: metrics that Prometheus reads without a complaint, alerts that fire when
they should, a dashboard that asks only for what there is, and documents that name what exists.

Run by ctest, with the program in MUSTER_BINARY; needs promtool and talks to 127.0.0.1 only."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ["MUSTER_BINARY"]
RULES = ROOT / "deploy/prometheus/muster.rules.yml"
DASHBOARD = ROOT / "deploy/grafana/muster.json"
# What is not a metric in an expression.
WORDS = set("by on without unless and or offset ignoring group_left group_right bool le".split())
OF_PROMETHEUS = {"up"}


def promtool(*args, text=None):
    done = subprocess.run(["promtool", *args], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Service:
    """A real service on a store in memory, with a pool and triggers whose names try their best."""

    POOL = "a.b~c:d-e_f"

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [BINARY, "serve", "--listen", "127.0.0.1:0", "--store", "memory:"],
            cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.url = re.search(r"http://\S+", line).group()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.folder.cleanup()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def work(self):
        pool = f"/v1/pools/{self.POOL}"
        self.call("PUT", pool, {"template": "echo"})
        job = json.loads(self.call("POST", pool + "/jobs", {"data": 1, "tenant": 'a"b\\c\n'}))
        self.call("GET", f"/v1/jobs/{job['id']}?wait_seconds=30")
        self.call("PUT", f"/v1/triggers/{self.POOL}", {"type": "webhook", "machine": "parallelization_checker"})
        self.call("POST", f"/v1/hooks/{self.POOL}?pool_id={self.POOL}")
        flow = self.call("POST", "/v1/flows", {"jobs": [
            {"name": "a", "pool_id": self.POOL, "data": 1},
            {"name": "b", "pool_id": self.POOL, "data": 2, "after": ["a"]}]})
        flow = json.loads(flow)["flow"]["flow_id"]
        self.call("GET", f"/v1/flows/{flow}?wait_seconds=30")
        resource = json.loads(self.call("POST", "/v1/resources", {"type": "file"}))["uid"]
        self.call("PUT", f"/v1/resources/{resource}/content", "four")
        self.call("GET", f"/v1/resources/{resource}/content")
        self.call("POST", "/v1/tick")


class Observability(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Service() as service:
            service.work()
            cls.metrics = service.call("GET", "/metrics")
        cls.names = set()
        for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", cls.metrics, re.M):
            cls.names.add(name)
            if kind in ("histogram", "summary"):
                cls.names.update({name + "_sum", name + "_count"})
            if kind == "histogram":
                cls.names.add(name + "_bucket")

    def metrics_in(self, expression):
        bare = re.sub(r"\{[^}]*\}|\[[^]]*\]", " ", expression)  # selectors and ranges
        bare = re.sub(r"\b(by|on|without|ignoring)\s*\([^)]*\)", " ", bare)
        words = re.findall(r"(?<![\w:])[a-zA-Z_:][\w:]*(?![\w:])(?!\s*\()", bare)  # no calls
        return set(words) - WORDS

    def assert_known(self, expression):
        used = self.metrics_in(expression)
        self.assertTrue(used, expression)
        self.assertLessEqual(used, self.names | OF_PROMETHEUS, expression)

    def test_prometheus_has_nothing_to_complain_about(self):
        code, said = promtool("check", "metrics", text=self.metrics)
        self.assertEqual((code, said), (0, ""))
        self.assertIn(f'muster_pool_jobs{{pool="{Service.POOL}",status="done"}} 3\n', self.metrics)

    def test_flows_are_counted(self):
        for line in (f'muster_jobs_unblocked_total{{pool="{Service.POOL}"}} 1',
                     f'muster_pool_jobs{{pool="{Service.POOL}",status="blocked"}} 0',
                     'muster_flows{status="succeeded"} 1', 'muster_flow_unsettled 0',
                     'muster_flows_ended_total{outcome="succeeded"} 1', 'muster_flow_seconds_count 1'):
            self.assertIn(f"\n{line}\n", self.metrics)

    def test_resources_are_counted(self):
        for line in ('muster_resources{holder="store",state="active"} 1', 'muster_resource_bytes{holder="store"} 6',
                     'muster_resource_evictions_total{reason="expired"} 0', 'muster_resources_lost_total 0',
                     'muster_blob_bytes 6', 'muster_blob_bytes_max 21474836480', 'muster_blob_written_bytes_total 6',
                     'muster_blob_read_bytes_total 6', 'muster_uploads_open 0',
                     f'muster_pool_jobs_pinned{{pool="{Service.POOL}"}} 0', 'muster_affinities{state="active"} 0'):
            self.assertIn(f"\n{line}\n", self.metrics)

    def test_no_job_or_worker_is_named(self):
        labels = set(re.findall(r'[{,](\w+)="', self.metrics))
        self.assertLessEqual(labels, {"pool", "status", "outcome", "result", "reason", "trigger", "direction",
                                      "method", "route", "code", "le", "version", "holder", "state", "kind"})
        self.assertIsNone(re.search(r'="[0-9a-f]{8}-[0-9a-f]{4}-|="w_', self.metrics))

    def test_alerts_fire_when_they_should(self):
        code, said = promtool("check", "rules", str(RULES))
        self.assertEqual(code, 0, said)
        code, said = promtool("test", "rules", str(RULES.with_suffix(".test.yml")))
        self.assertEqual(code, 0, said)

    def test_every_alert_is_tested_explained_and_asks_for_what_there_is(self):
        text = RULES.read_text()
        tests = RULES.with_suffix(".test.yml").read_text()
        runbooks = (ROOT / "docs/runbooks.md").read_text()
        alerts = re.findall(r"- alert: (\w+)\n(.*?)(?=\n\n|\Z)", text, re.S)
        self.assertGreater(len(alerts), 10)
        for name, rule in alerts:
            self.assertRegex(tests, rf"alertname: {name}\n\s+exp_alerts:", name)
            self.assertIn(f"\n## {name}\n", runbooks)
            self.assertIn(f"docs/runbooks.md#{name.lower()}\n", rule + "\n")
            expression = re.search(r"expr: (?:>-\n)?(.*?)\n        (?:for|labels):", rule, re.S).group(1)
            self.assert_known(expression)

    def test_the_dashboard_asks_for_what_there_is(self):
        dashboard = json.loads(DASHBOARD.read_text())
        targets = [t["expr"] for panel in dashboard["panels"] for t in panel.get("targets", [])]
        self.assertGreater(len(targets), 20)
        rules = []
        for number, expression in enumerate(targets):
            self.assert_known(expression)
            expression = expression.replace("$__rate_interval", "1m").replace("$pool", ".*")
            self.assertNotIn("$", expression)
            rules.append({"record": f"r:{number}", "expr": expression})
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)  # JSON is YAML
            file.flush()
            code, said = promtool("check", "rules", file.name)
        self.assertEqual(code, 0, said)

    def test_the_dashboard_shows_every_metric_of_pools(self):
        shown = set()
        dashboard = json.loads(DASHBOARD.read_text())
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                shown |= self.metrics_in(target["expr"])
        pools = {name for name in re.findall(r"^# TYPE (muster_\w+) ", self.metrics, re.M)
                 if not name.startswith("muster_build_info")}
        unseen = {name for name in pools if not any(s.startswith(name) for s in shown)}
        self.assertEqual(unseen, set())

    def test_every_metric_is_in_the_table(self):
        page = (ROOT / "docs/observability.md").read_text()
        for name in re.findall(r"^# TYPE (\w+) ", self.metrics, re.M):
            self.assertIn(f"`{name}`", page)

    def test_the_commands_of_the_documents_exist(self):
        for page in ("runbooks.md", "observability.md"):
            text = (ROOT / "docs" / page).read_text()
            commands = set(re.findall(r"(?:^|`|\$ )muster ((?:[a-z]+ ?){1,2})", text, re.M))
            self.assertTrue(commands, page)
            for command in commands:
                words = command.split()
                done = subprocess.run([BINARY, *words, "--help"], capture_output=True, text=True)
                if done.returncode != 0 or f"Usage: muster {words[0]}" not in done.stdout:
                    self.fail(f"{page}: muster {command}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-b"], verbosity=0)
