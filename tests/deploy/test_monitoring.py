"""Dashboard, alerts and scrape configuration ask for what the service gives, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy.compose_file import ROOT, compose_document
from tests.running_service import running_service

DASHBOARD = json.loads((ROOT / "deploy/grafana/dashboards/ninforge.json").read_text())
ALERTS = yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())
PROMETHEUS = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())
SERVICES = compose_document({})["services"]
TARGETS = [(panel["title"], target) for panel in DASHBOARD["panels"] for target in panel["targets"]]
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
EXPRESSIONS = [target["expr"] for _, target in TARGETS] + [rule["expr"] for rule in RULES]

Values = dict[str, dict[str, set[str]]]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Values:
    """What a service without jobs gives: of each metric the labels, and of each label the values."""
    with running_service(tmp_path_factory.mktemp("monitored") / "data") as service:
        text = service.client.get("/metrics").text
    metrics: Values = {"up": {"job": {scrape["job_name"] for scrape in PROMETHEUS["scrape_configs"]}}}
    for family in text_string_to_metric_families(text):
        labels = metrics.setdefault(family.name, {})
        for sample in family.samples:
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return metrics


def selectors(expression: str) -> list[promql_parser.VectorSelector]:
    """Every selector of metrics in an expression. Raises ValueError for what is no PromQL."""
    found: list[promql_parser.VectorSelector] = []

    def visit(one: promql_parser.Expr) -> None:
        if isinstance(one, promql_parser.VectorSelector):
            found.append(one)

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_selects_what_there_is(given: Values, expression: str) -> None:
    used = selectors(expression)
    assert {selector.name for selector in used} == set(re.findall(r"ninforge_\w+|\bup\b", expression))
    for selector in used:
        labels = given[str(selector.name)]
        for matcher in selector.matchers.matchers:
            assert set(matcher.value.split("|")) <= labels[matcher.name]


@pytest.mark.parametrize("expression", ['ninforge_job{state="ready"}', 'ninforge_jobs{state="redy"}', "ninforge_jobs{"])
def test_a_wrong_expression_is_noticed(given: Values, expression: str) -> None:
    with pytest.raises((AssertionError, KeyError, ValueError)):
        test_an_expression_selects_what_there_is(given, expression)


def test_every_metric_is_shown(given: Values) -> None:
    shown = {selector.name for _, target in TARGETS for selector in selectors(target["expr"])}
    assert shown == set(given) - {"up"}


@pytest.mark.parametrize(("title", "target"), TARGETS)
def test_legends_name_labels_that_there_are(given: Values, title: str, target: dict[str, Any]) -> None:
    labels = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
    [name] = [selector.name for selector in selectors(target["expr"])]
    assert labels <= set(given[str(name)]), title


def test_panels_have_a_source_that_is_provisioned_and_lie_beside_each_other() -> None:
    [source] = yaml.safe_load((ROOT / "deploy/grafana/provisioning/datasources/prometheus.yml").read_text())[
        "datasources"
    ]
    sources = [panel["datasource"] for panel in DASHBOARD["panels"]] + [target["datasource"] for _, target in TARGETS]
    assert all(one == {"type": source["type"], "uid": source["uid"]} for one in sources)
    assert source["url"] == "http://prometheus:9090"
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    cells = [
        (place["x"] + column, place["y"] + row)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for column in range(place["w"])
        for row in range(place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) < 24


def test_provisioned_dashboards_lie_where_the_container_has_them() -> None:
    provisioning = ROOT / "deploy/grafana/provisioning"
    [provider] = yaml.safe_load((provisioning / "dashboards/ninforge.yml").read_text())["providers"]
    mounts = dict(mount.split(":")[1::-1] for mount in SERVICES["grafana"]["volumes"])
    assert mounts[provider["options"]["path"]] == "./deploy/grafana/dashboards"
    assert mounts["/etc/grafana/provisioning"] == "./deploy/grafana/provisioning"


def test_prometheus_asks_the_api_with_its_token_and_finds_its_rules() -> None:
    [scrape] = PROMETHEUS["scrape_configs"]
    [target] = scrape["static_configs"][0]["targets"]
    name, port = target.split(":")
    api = SERVICES[name]
    assert port == api["environment"]["NINFORGE_PORT"]
    assert name in api["environment"]["NINFORGE_ALLOWED_HOSTS"].split(",")
    secret = Path(scrape["authorization"]["credentials_file"])
    assert (str(secret.parent), secret.name in SERVICES["prometheus"]["secrets"]) == ("/run/secrets", True)
    mounts = {mount.split(":")[1] for mount in SERVICES["prometheus"]["volumes"]}
    assert {f"/etc/prometheus/{file}" for file in PROMETHEUS["rule_files"]} <= mounts
    assert "/etc/prometheus/prometheus.yml" in mounts


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_how_bad_it_is_and_what(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert rule["annotations"]["summary"].endswith(".")
    assert promql_parser.parse_duration(rule.get("for", "1s")) is not None
