# %% [markdown]
# # A first look
#
# A link loses two thirds of its capacity while a flow fills it. This script measures the
# queueing delay, compares it with the unavoidable minimum, and repeats the run with a shorter
# link. Run this file as a script, or cell by cell in an editor that knows `# %%`.

# %%
from pathlib import Path

import polars as pl
import sojourn

scenario = sojourn.Scenario.load(Path("scenarios/capacity-drop.toml"))
scenario["duration"] = "40s"

# %% [markdown]
# ## The bound
#
# From 60 to 20 Mbit/s, r is 3. It takes 50 ms until the sender's reaction arrives at the
# bottleneck, and until then the queue grows by r - 1 seconds every second.

# %%
bound = sojourn.theory.spike("60Mbit", "20Mbit", "50ms")
print(f"no spike below {1000 * bound['spike_s']:.0f} ms")

# %% [markdown]
# ## Two controllers

# %%
run = sojourn.run(scenario, control=["cubic", "dctcp"])
for one in run.runs:
    spike = one["spikes"][0]
    print(f"{one['control']}: spike {1000 * (spike['spike_s'] or 0):.0f} ms")

# %% [markdown]
# Every sample is in a Polars frame: here, the greatest window of each second around the drop.

# %%
series = run.flow("upload", control="cubic").series
windows = (
    series.filter(pl.col("t_s").is_between(28, 34))
    .group_by(pl.col("t_s").floor().alias("second"))
    .agg(pl.col("cwnd_bytes").max())
    .sort("second")
)
print(windows)

# %% [markdown]
# ## The figure
#
# In a notebook, `run.plot()` alone shows it. It can be saved as HTML, PNG, SVG and PDF.

# %%
figure = run.plot()
figure.save("first-look.png")

# %% [markdown]
# ## The same with a tenth of the delay
#
# A scenario is plain data: change it and run again.

# %%
for delay in ("25ms", "2500us"):
    for link in ("bottleneck", "back"):
        scenario["link"][link]["delay"] = delay
    spike = sojourn.run(scenario, control="dctcp").runs[0]["spikes"][0]
    print(f"delay {delay} each way: spike {1000 * (spike['spike_s'] or 0):.1f} ms")

# %% [markdown]
# ## A scenario in Python

# %%
built = (
    sojourn.Scenario(title="Two flows", duration="10s", controls=["cubic"])
    .link("bottleneck", rate="20Mbit", delay="10ms", queue={"kind": "codel"})
    .link("back", delay="10ms")
    .flow("first", path=["bottleneck"], back=["back"])
    .flow("second", path=["bottleneck"], back=["back"], start="2s")
)
both = sojourn.run(built)
for flow in both.runs[0]["flows"]:
    print(f"{flow['name']}: {flow['goodput_bps'] / 1e6:.1f} Mbit/s")
