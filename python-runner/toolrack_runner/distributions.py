"""The packages that authors ask for, and those whose import has another name. For the cures in faults."""

from typing import Final

from toolrack_runner.near_miss import near_miss

#: Packages that are imported by another name than the one that a head has to name.
_DISTRIBUTIONS: Final = {
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "jwt": "pyjwt",
    "pptx": "python-pptx",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
#: Packages that tools ask for most. Only these are suggested for a misspelled name: a similar name from an index might be a
#: package that somebody has published for misspelled names.
_MOST_USED: Final = (
    *("aiohttp", "anthropic", "arrow", "boto3", "cryptography", "duckdb", "fastapi", "feedparser", "flask"),
    *("geopy", "httpx", "humanize", "jinja2", "jsonschema", "lxml", "markdown", "matplotlib", "networkx"),
    *("numpy", "openai", "openpyxl", "orjson", "pandas", "plotly", "polars", "psycopg", "pyarrow"),
    *("pydantic", "pypdf", "python-slugify", "pytz", "rapidfuzz", "redis", "requests", "rich", "scipy"),
    *("seaborn", "shapely", "sqlalchemy", "statsmodels", "sympy", "tabulate", "tenacity", "tqdm", "urllib3"),
)
_IMPORTS: Final = {name.casefold(): name for name in _DISTRIBUTIONS}


def distribution_of(package: str) -> str:
    """The name that a head has to name for an import. The same name if it is not known to differ."""
    return _DISTRIBUTIONS.get(package, package)


def meant_distribution(name: str) -> str:
    """What the author of a head has probably meant by this normalised name, which is no package. Empty if nobody knows.

    The text is one or two sentences that begin with a capital letter or a quote.
    """
    imported = _IMPORTS.get(name)
    if imported is not None:
        package = _DISTRIBUTIONS[imported]
        return f"'{imported}' is the name of an import; its package is {package}. Write \"{package}\" in `dependencies`."
    near = near_miss(name, (*_MOST_USED, *_DISTRIBUTIONS, *_DISTRIBUTIONS.values()))
    return "" if near is None else f"Did you mean '{distribution_of(near)}'?"
