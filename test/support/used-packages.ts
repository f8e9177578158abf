import type { JsonValue } from '@toolrack/contract'

/** A package, its imports, what a tool does with it, and the value that the tool returns. */
export type UsedPackage = {
  readonly name: string
  readonly imports: string
  /** The lines of a function body without `return`. They set `value`. */
  readonly work: string
  readonly value: JsonValue
}

/** The packages that authors of tools for data and for the web use most. None of the tools needs a network. */
export const USED_PACKAGES: readonly UsedPackage[] = [
  {
    name: 'numpy',
    imports: 'import numpy as np',
    work: 'value = np.linalg.solve([[3, 1], [1, 2]], [9, 8]).round(6).tolist()',
    value: [2, 3],
  },
  {
    name: 'pandas',
    imports: 'import io\nimport pandas as pd',
    work: `table = pd.read_csv(io.StringIO("city,km\\nBern,3\\nBern,5\\nBasel,4.5\\n"))
value = table.groupby("city")["km"].mean().to_dict()`,
    value: { Basel: 4.5, Bern: 4 },
  },
  {
    name: 'scipy',
    imports: 'from scipy import optimize',
    work: 'value = round(optimize.brentq(lambda x: x * x - 9, 0, 5), 6)',
    value: 3,
  },
  {
    name: 'scikit-learn',
    imports: 'from sklearn.linear_model import LinearRegression',
    work: `model = LinearRegression().fit([[0], [1], [2]], [1, 3, 5])
value = round(float(model.predict([[3]])[0]), 6)`,
    value: 7,
  },
  {
    name: 'matplotlib',
    imports: 'import io\nfrom matplotlib.figure import Figure',
    work: `figure = Figure()
figure.subplots().plot([1, 2, 3])
image = io.BytesIO()
figure.savefig(image, format="png")
value = image.getvalue()[1:4].decode()`,
    value: 'PNG',
  },
  {
    name: 'pillow',
    imports: 'from PIL import Image',
    work: 'value = list(Image.new("RGB", (40, 20), "red").resize((4, 2)).getpixel((0, 0)))',
    value: [255, 0, 0],
  },
  {
    name: 'requests',
    imports: 'import requests',
    work: 'value = requests.Request("GET", "https://a.example/x", params={"q": "1 2"}).prepare().url',
    value: 'https://a.example/x?q=1+2',
  },
  {
    name: 'httpx',
    imports: 'import httpx',
    work: `transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"path": request.url.path}))
with httpx.Client(transport=transport) as client:
    value = client.get("https://a.example/p").json()`,
    value: { path: '/p' },
  },
  {
    name: 'beautifulsoup4',
    imports: 'from bs4 import BeautifulSoup',
    work: 'value = BeautifulSoup("<p>a<b>bold</b></p>", "html.parser").b.get_text()',
    value: 'bold',
  },
  {
    name: 'lxml',
    imports: 'from lxml import etree',
    work: 'value = etree.fromstring("<a><b>1</b><b>2</b></a>").xpath("sum(b)")',
    value: 3,
  },
  {
    name: 'pydantic',
    imports: 'from datetime import date\nfrom pydantic import BaseModel',
    work: `class Trip(BaseModel):
    on: date
    days: int

value = Trip.model_validate_json('{"on": "2026-03-01", "days": "3"}').model_dump(mode="json")`,
    value: { on: '2026-03-01', days: 3 },
  },
  {
    name: 'polars',
    imports: 'import polars as pl',
    work: `table = pl.DataFrame({"city": ["Bern", "Basel", "Bern"], "km": [3, 4, 5]})
value = table.group_by("city").agg(pl.col("km").sum()).sort("city").to_dicts()`,
    value: [
      { city: 'Basel', km: 4 },
      { city: 'Bern', km: 8 },
    ],
  },
  {
    name: 'pyarrow',
    imports: 'import io\nimport pyarrow as pa\nimport pyarrow.compute as pc\nimport pyarrow.parquet as pq',
    work: `file = io.BytesIO()
pq.write_table(pa.table({"km": [1, 2, 3]}), file)
value = pc.sum(pq.read_table(io.BytesIO(file.getvalue()))["km"]).as_py()`,
    value: 6,
  },
  {
    name: 'openpyxl',
    imports: 'import io\nfrom openpyxl import Workbook, load_workbook',
    work: `file = io.BytesIO()
book = Workbook()
book.active.append(["Bern", 3])
book.save(file)
value = [cell.value for cell in load_workbook(io.BytesIO(file.getvalue())).active[1]]`,
    value: ['Bern', 3],
  },
  {
    name: 'pyyaml',
    imports: 'import yaml',
    work: 'value = yaml.safe_load("a: [1, 2]\\nb: yes")',
    value: { a: [1, 2], b: true },
  },
  {
    name: 'jinja2',
    imports: 'from jinja2 import Template',
    work: 'value = Template("{% for n in ns %}{{ n }};{% endfor %}").render(ns=[1, 2])',
    value: '1;2;',
  },
  {
    name: 'openai',
    imports: 'import httpx2 as httpx\nimport openai',
    work: `answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}]}
transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
client = openai.OpenAI(api_key="none", http_client=httpx.Client(transport=transport))
asked = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
value = asked.choices[0].message.content`,
    value: 'Hello.',
  },
  {
    name: 'anthropic',
    imports: 'import anthropic\nimport httpx2 as httpx',
    work: `answer = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": "Hello."}],
    "usage": {"input_tokens": 1, "output_tokens": 1}}
transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
client = anthropic.Anthropic(api_key="none", http_client=httpx.Client(transport=transport))
asked = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}])
value = asked.content[0].text`,
    value: 'Hello.',
  },
  {
    name: 'sqlalchemy',
    imports: 'from sqlalchemy import create_engine, text',
    work: `with create_engine("sqlite://").begin() as connection:
    connection.execute(text("create table trips (km integer)"))
    connection.execute(text("insert into trips values (:km)"), [{"km": 1}, {"km": 5}])
    value = connection.execute(text("select sum(km) from trips")).scalar_one()`,
    value: 6,
  },
  {
    name: 'python-dateutil',
    imports: 'from dateutil import parser',
    work: 'value = parser.parse("3 March 2026 14:05").isoformat()',
    value: '2026-03-03T14:05:00',
  },
]

/** The name of the module of a package, and of its tool. */
export function moduleNameOf({ name }: UsedPackage): string {
  return `uses_${name.replaceAll('-', '_')}`
}

/** A module that asks for the package. Its tool returns the value and the milliseconds of the import. */
export function moduleUsing(used: UsedPackage): string {
  const module = moduleNameOf(used)
  return `# /// script
# dependencies = ["${used.name}"]
# ///
import time

_STARTED = time.perf_counter()
${used.imports}

IMPORT_MS = (time.perf_counter() - _STARTED) * 1000


def run() -> dict:
    """Do something with ${used.name}."""
${used.work.replaceAll(/^(?=.)/gm, '    ')}
    return {"value": value, "importMs": IMPORT_MS}


TOOL_SPECS = [{"name": "${module}:run", "handler": run, "timeoutSeconds": 60}]
`
}
