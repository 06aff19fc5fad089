"""Other words that questions use for the words of a text.

Two tables: groups of synonyms, and the category of a thing or the fact about a person that a word implies.
`predict` turns them into search words. Both contain only words whose synonyms are nearly certain: a tool that
is called as an ordinary word ("black", "spring", "teams") is in neither.
"""

from __future__ import annotations

from typing import Final

_GROUPS: Final = """
db database | auth authentication login signin | authz authorization permission | repo repository
postgres postgresql | k8s kubernetes | config configuration settings | env environment
dev development | prod production | deps dependency dependencies | docs documentation | perf performance
ci pipeline | ui interface frontend | msg message | pkg package | admin administrator | app application
async asynchronous | impl implementation | param parameter argument | arg argument | dir directory folder
doc document | err error failure | exec execute | func function | info information | js javascript
ts typescript | py python | lib library | max maximum | min minimum | num number | org organization
pr merge review | ref reference | regex pattern | req request | spec specification | sync synchronize
temp temporary | util utility | var variable | ver version | vm machine | pwd password | creds credentials
deploy deployment release rollout | bug defect issue | test testing | fix repair | remove delete drop
movie film | photo picture image | kid child children son daughter | mom mother | dad father
bike bicycle | car vehicle | doctor physician | job work occupation | buy purchase bought | begin start
flat apartment | holiday vacation trip | cellphone phone | tv television | fridge refrigerator
wedding marriage married | birthday birth | physician doctor | attorney lawyer | illness disease
"""

_KINDS: Final = """
postgres postgresql mysql mariadb sqlite oracle: database storage
mongodb cassandra dynamodb duckdb cockroachdb: database storage
redis memcached: cache store
kafka rabbitmq nats pulsar sqs jetstream: message queue broker
docker podman containerd: container
kubernetes k8s nomad: orchestration cluster
react vue angular svelte nextjs: frontend framework
django flask fastapi laravel: web framework backend
pytest jest vitest junit mocha unittest: test framework
ruff eslint flake8 pylint prettier: linter formatter
mypy pyright: type checker
uv pip npm pnpm conda: package manager
jenkins circleci travis: ci pipeline
aws gcp azure: cloud provider hosting
python rust golang java kotlin ruby php typescript javascript: programming language
terraform ansible pulumi: infrastructure deployment
prometheus grafana datadog sentry: monitoring metrics
nginx caddy traefik haproxy: proxy web server
jwt oauth saml: authentication login
elasticsearch opensearch tantivy lucene: search engine index
jira trello: issue tracker
slack discord: chat
github gitlab bitbucket: repository hosting
vim emacs vscode neovim pycharm: editor
linux macos ubuntu debian: operating system
dog cat puppy kitten hamster parrot turtle: pet animal
violin guitar piano drums clarinet flute cello saxophone: musical instrument
tennis football soccer basketball baseball volleyball: sport
yoga jogging swimming hiking cycling: exercise hobby activity
painting pottery knitting drawing photography gardening: hobby art
vegan vegetarian: diet food
directed: director
wrote written authored: author writer
composed: composer
founded established: founder
invented: inventor
produced: producer
starring starred: actor cast
born: birth birthplace birthday
died: death
married: wife husband spouse
divorced: marriage
studied graduated: education university school
developed: developer
published: publisher
located: location place
costs priced: price
painted: painter artist
sang: singer performer
nephew niece cousin aunt uncle brother sister grandmother grandfather: family relative
"""


def _synonyms() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for group in _GROUPS.replace("\n", "|").split("|"):
        words = group.split()
        for word in words:
            table[word] = (*table.get(word, ()), *(other for other in words if other != word))
    for line in _KINDS.strip().splitlines():
        members, kinds = line.split(":")
        for word in members.split():
            table[word] = (*table.get(word, ()), *kinds.split())
    return table


SYNONYMS: Final = _synonyms()
"""A lower-case word -> the other words for it, and for its kind."""
