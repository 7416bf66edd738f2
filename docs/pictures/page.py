"""The pictures of the page, from two runs of the SDXL example: page.py DTYPECHECK, with chromium, in the Python of scripts/setup

page-failing.png is a page from its head to its steps, page-finding.png its finding, page-clean.png a clean run's to its cast bill;
page-apart.png is two runs of another program, of which one has another epsilon; page-health.png the map of a LoRA's health, of which one layer
grows until it overflows.
"""

import io
import pathlib
import subprocess
import sys
import tempfile

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "sdxl_lora"
TRAIN = ["train.py", "--model", "tiny/model", "--data", "tiny/images", "--output_dir", "lora", "--resolution", "64", "--seed", "0"]
RUNS = {"failing": ["--max_train_steps", "3", "--unet_dtype", "float16"],
        "clean": ["--max_train_steps", "4", "--mixed_precision", "bf16", "--train_text_encoder"]}
PARTING = HERE.parents[1] / "tests" / "tracer" / "programs" / "parting.py"
GROWING = PARTING.with_name("growing_lora.py")
APART = {"before": "plain", "after": "eps"}
WIDTH = 1240


def page_of(tool, folder, name):
    program = ["python", *TRAIN, *RUNS[name]]
    subprocess.run([tool, "trace", "--no-report", "--out", name, "--", *program], cwd=folder, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    subprocess.run([tool, "report", name, "--format", "html", "-o", f"{name}.html", "--fail-on", "never"], cwd=folder, check=True)
    return folder / f"{name}.html"


def page_of_two(tool, folder):
    for name, plant in APART.items():
        subprocess.run([tool, "trace", "--values", "--no-report", "--out", name, "--", "python", "parting.py", plant], cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([tool, "diff", *APART, "--format", "html", "-o", "apart.html"], cwd=folder)
    return folder / "apart.html"


def page_of_health(tool, folder):
    subprocess.run([tool, "trace", "--health", "--no-report", "--out", "health", "--", "python", "growing_lora.py", "tiny/model", "430", "cpu"],
                   cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([tool, "report", "health", "--format", "html", "-o", "health.html", "--fail-on", "never"], cwd=folder, check=True)
    return folder / "health.html"


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},1000"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path="/usr/bin/chromedriver"))


def save(png, name, height=None):
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image = image.crop((0, 0, image.width, height or image.height))
    image.quantize(256).save(HERE / f"page-{name}.png", optimize=True)


def whole(page, path):
    page.get(path.as_uri())
    page.set_window_size(WIDTH, page.execute_script("return document.documentElement.scrollHeight"))
    return page.get_screenshot_as_png()


def end_of(page, section):
    return int(page.execute_script("return document.querySelector(arguments[0]).getBoundingClientRect().bottom + scrollY", section)) + 16


def main(tool):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, EXAMPLE / "make_tiny_sdxl.py", folder / "tiny"], check=True, stdout=subprocess.DEVNULL)
        for program in (EXAMPLE / "train.py", PARTING, GROWING):
            (folder / program.name).write_bytes(program.read_bytes())
        page = browser()
        try:
            png = whole(page, page_of(tool, folder, "failing"))
            save(png, "failing", end_of(page, "#steps"))
            save(page.find_element(By.CSS_SELECTOR, "article").screenshot_as_png, "finding")
            png = whole(page, page_of(tool, folder, "clean"))
            save(png, "clean", end_of(page, "#casts"))
            save(whole(page, page_of_two(tool, folder)), "apart")
            whole(page, page_of_health(tool, folder))
            save(page.find_element(By.CSS_SELECTOR, "#health").screenshot_as_png, "health")
        finally:
            page.quit()


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
