"""The page at / in headless Chromium: predict, explain, learn, forget, refused without a token."""

from __future__ import annotations

import pytest

from serve.conftest import rows_of, table

SERIOUS = ("serious", "critical")


@pytest.fixture
def page(storing, browser):
    frame, labels = table(60)
    with storing() as client:
        ids = [f"m{i}" for i in range(60)]
        body = {"rows": rows_of(frame), "labels": labels.tolist(), "ids": ids}
        assert client.post("/v1/learn", body).status == 200
        while client.get("/readyz").status != 200:
            pass
        shown = browser.new_page(viewport={"width": 390, "height": 844})
        shown.client, shown.troubles, shown.asked = client, [], []
        shown.on("pageerror", lambda error: shown.troubles.append(f"error: {error}"))
        shown.on("request", lambda request: shown.asked.append(request.url))
        shown.goto(f"http://127.0.0.1:{client.port}/")
        yield shown
        assert shown.troubles == []
        origin = f"http://127.0.0.1:{client.port}/"
        assert all(url.startswith(origin) for url in shown.asked)
        shown.close()


def enter(page, token):
    page.fill("#token", token)
    page.click("text=Show the model")


def says(page, text):
    page.wait_for_function(
        "(text) => document.getElementById('status').textContent.includes(text)", arg=text
    )


def rows(page):
    return page.client.get("/v1/model").json["rows"]


def looks_well(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core")
    page.evaluate("document.body.offsetHeight")
    found = axe.Axe().run(page).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in SERIOUS] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_person_predicts_explains_learns_and_forgets(page):
    page.evaluate("globalThis.stays = 1")
    enter(page, page.client.token)
    says(page, "This is the model")
    assert page.locator("#about").text_content().startswith("mail, NaiveBayes")
    page.fill("label:has-text('age') + input", "44.5")
    page.fill("label:has-text('city') + input", "Oslo")
    page.select_option("label:has-text('member') + select", "true")
    row = {"age": 44.5, "city": "Oslo", "member": True}
    page.click("#predict")
    says(page, "Predicted")
    [found] = page.client.post("/v1/predict", {"rows": [row]}).json["predictions"]
    assert page.locator("#label").text_content() == f"Predicted class: {found['label']}"
    share = f"{100 * found['probabilities']['yes']:.2f} %"
    assert share in page.locator("#shares").text_content()
    page.click("#explain")
    says(page, "Explained")
    [why] = page.client.post("/v1/explain", {"rows": [row]}).json["explanations"]
    city = next(c for c in why["columns"] if c["column"] == "city")
    shown = page.locator("#why-rows").text_content().replace("−", "-")
    assert "city = Oslo" in shown
    assert f"{city['nats']['yes']:.4f}" in shown
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        looks_well(page)
    page.fill("#id", "from-the-page")
    page.fill("#class", "yes")
    before = rows(page)
    page.click("#learn")
    says(page, "Learned")
    while rows(page) != before + 1:
        page.wait_for_timeout(20)
    page.click("#learn")
    says(page, "was learned before")
    page.locator("#forget").scroll_into_view_if_needed()
    box = page.locator("#status").bounding_box()
    assert 0 <= box["y"] <= 844 - box["height"]  # what it says is seen where it was asked
    page.click("#forget")
    says(page, "Forgotten")
    while rows(page) != before:
        page.wait_for_timeout(20)
    page.click("#forget")
    says(page, "nothing changed")
    page.fill("#id", "")
    page.click("#forget")
    says(page, "Enter the id")
    assert page.evaluate("globalThis.stays") == 1
    assert (
        page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    )


def test_without_a_token_or_a_scope_the_page_refuses(page):
    looks_well(page)
    enter(page, "")
    says(page, "needs a token")
    assert page.locator("#model").is_hidden()
    enter(page, "tb_00000000_wrong")
    says(page, "unknown, revoked or expired")
    enter(page, page.client.tokens.make("reader", ["predict"]))
    says(page, "This is the model")
    assert page.locator("#explain").is_hidden()
    page.fill("#id", "x")
    page.fill("#class", "yes")
    before = rows(page)
    page.click("#learn")
    says(page, "needs a token with the scope 'learn'")
    page.click("#forget")
    says(page, "needs a token with the scope 'forget'")
    assert rows(page) == before
