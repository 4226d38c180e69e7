#!/usr/bin/env python3
"""Write the tables of docs/results and of the README from the records of one run of tools/bench.

usage: tools/bench_report.py FOLDER ROOT        (`tools/bench report` calls it)

A record is a JSON file of one part. All of them carry the same run.json: commit, machine, libraries. A table replaces
the text between two marker lines, `<!-- bench NAME -->` and `<!-- end -->`; a part without a record keeps its text, and
the script says which part that is. Nothing is computed here but ratios of figures in one record.
"""
import argparse
import json
import os
import re
import sys

MIB = 1 << 20


# Fields of a record, as programs before this one named them.
RENAMED = {"lives": "buffers", "load_bytes": "peak_bytes", "height_bytes": "packed_bytes", "load_percent": "peak_percent",
           "values_compared": "tensors_compared"}


def load(folder, name):
    path = os.path.join(folder, name + ".json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file, object_hook=lambda fields: {RENAMED.get(k, k): v for k, v in fields.items()})


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def mib(count):
    return f"{count / MIB:.1f}"


# Name of a mode of the peer, as the documents write it.
PEER = {"eager-nhwc-tuned": "PyTorch eager, channels last, allocator keeps its memory",
        "checkpoint": "PyTorch checkpoint on every block", "compile": "torch.compile",
        "save-on-cpu": "PyTorch save_on_cpu", "save-to-file": "PyTorch, saved tensors in files by hooks",
        "compile-0.8": "torch.compile, activation_memory_budget 0.8",
        "compile-0.5": "torch.compile, activation_memory_budget 0.5"}


def best_peer(results):
    return max((results[name]["images_per_second"], name) for name in results if name in PEER)


def ratio_row(results, name):
    """Ours against the peer whose peak was its budget, or without one against the fastest peer."""
    found = re.search(r" at the peak of (.*)$", name)
    peer = found[1] if found else best_peer(results)[1]
    return results[name]["images_per_second"] / results[peer]["images_per_second"], peer


def peer_table(record):
    results, rows = record["results"], []
    for name, row in results.items():
        ratio, against = ("", "") if name in PEER else ratio_row(results, name)
        rows.append([PEER.get(name, name), f"{row['images_per_second']:.0f}", mib(row["peak_bytes"]),
                     f"{ratio:.2f} x {PEER[against]}" if against else ""])
    versions = record["versions"]
    library = re.search(r"v([0-9.]+)", versions["onednn"])
    names = f"PyTorch {versions['torch'].partition('+')[0]}" + (f" with oneDNN {library[1]}" if library else "") + ".\n\n"
    return names + table(["", "images/s", "peak MiB", "ratio in this run"], rows)


def compare_table(record):
    capped, free = record["capped"], record["keep_all"]
    rows = [["arena", mib(capped["arena_bytes"]) + " MiB", mib(free["arena_bytes"]) + " MiB"],
            ["median step", f"{capped['step_ms']:.1f} ms", f"{free['step_ms']:.1f} ms"],
            ["overhead, predicted", f"{capped['overhead_percent']:.2f} %, at least {capped['bound_percent']:.2f} % proved",
             ""],
            ["overhead, measured", f"{capped['overhead_measured_percent']:.2f} %", ""],
            ["weights identical", ("yes" if record["identical"] else "NO") + f", {record['tensors_compared']} tensors", ""]]
    return table(["", "with the budget", "without"], rows)


def online_table(record):
    compare, jemalloc = record["compare"], record["jemalloc"]
    capped = compare["capped"]
    return table(["", ""], [
        ["overhead, predicted", f"{capped['overhead_percent']:.2f} %"],
        ["overhead, measured", f"{capped['overhead_measured_percent']:.2f} %"],
        ["search", f"{record['search_percent']:.2f} % of a step, once a run"],
        ["its schedule by jemalloc", f"{jemalloc['ratio']:.2f} x the images/s of its own addresses"],
        ["weights identical", "yes" if compare["identical"] else "NO"]])


def address_table(record):
    names = {"planned": "planned", "arena": "arena: decided while the schedule runs",
             "jemalloc": "jemalloc: an allocation a tensor, no budget"}
    return table(["", "images/s", "MiB"], [
        [text, f"{record[kind]['images_per_second']:.0f}",
         mib(record[kind]["arena_bytes"]) if kind != "jemalloc" else "not bounded"] for kind, text in names.items()])


def accuracy_table(record):
    return table(["", ""], [["budget", mib(record["budget_bytes"]) + " MiB"], ["epochs", "3"],
                            ["test accuracy", f"{record['test_accuracy_percent']:.2f} %"],
                            ["images/s", f"{record['images_per_second']:.0f}"], ["seconds", f"{record['seconds']:.0f}"]])


def ops_table(record):
    times = sorted(record["kind_ns"].items(), key=lambda row: -row[1])
    whole, shown = sum(ns for _, ns in times), times[:8]
    rows = shown + [("all others", whole - sum(ns for _, ns in shown))]
    return table(["kind", "ms", "share"], [[kind, f"{ns / 1e6:.1f}", f"{ns / whole * 100:.1f} %"] for kind, ns in rows])


def by_budget(rows, *keys):
    """Rows with equal values of the keys, in the order of their first row."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def published_figure(row):
    return f"{row['overhead_percent']:g}" + (" over" if row["over_budget"] else "")


def plan_figure(row):
    if "overhead_percent" not in row:
        return "no plan"
    figure = f"{row['overhead_percent']:.4f}"
    return (f"**{figure}**" if row["proved"] else figure) + f" ({row['seconds']:.2f} s)"


def planners_table(record):
    rows = []
    for (name, percent), group in by_budget(record["rows"], "published_name", "budget_percent").items():
        if not name:
            continue
        published = {row["source"]: published_figure(row) for row in group[0]["published"]}
        ours = {row["order"]: plan_figure(row) for row in group}
        rows.append([f"{name} {percent} %"] + [published.get(source, "") for source in ("MILP", "Moccasin", "FastSA")] +
                    [ours["fixed"], ours["free"]])
    return table(["", "Checkmate", "Moccasin", "FastSA", "ours, program order", "ours, any order"], rows)


def packing_table(record):
    rows = [row for row in record["published"]["rows"] if "minimalloc_milliseconds" in row]
    return table(
        ["", "buffers", "most live bytes", "packed under 1 MiB", "MiniMalloc, published", "least arena", "at least", "in"],
        [[row["instance"].upper(), str(row["buffers"]), f"{row['peak_bytes']:,}", f"{row['milliseconds']:.0f} ms",
          f"{row['minimalloc_milliseconds']} ms", f"{row['packed_bytes']:,}" + (", proved" if row["proved"] else ""),
          f"{row['bound_bytes']:,}", f"{row['seconds']:.2f} s"] for row in rows])


def lives_table(record):
    return table(["step of", "buffers", "first-fit", "ours", "to 99 %"],
                 [[f"{row['shape']}, {row['planner']}", f"{row['buffers']:,}",
                   f"{row['peak_bytes'] / row['first_fit_bytes'] * 100:.2f} %", f"{row['peak_percent']:.2f} %",
                   f"{row['seconds_to_99_percent']:.2f} s" if row["seconds_to_99_percent"] >= 0 else "not reached"]
                  for row in record["made"]["rows"]])


PEER_PLANNERS = ("sqrt", "greedy", "rotor", "fastsa")


def large_rows(record):
    """Instance, budget, the overhead of each planner that has a plan, and the row of search."""
    for (name, percent), group in by_budget(record["rows"], "instance", "budget_percent").items():
        overhead = {row["planner"]: row["overhead_percent"] for row in group if "overhead_percent" in row}
        yield name, percent, overhead, next(row for row in group if row["planner"] == "search")


def large_ratio(overhead):
    peers = [overhead[name] for name in PEER_PLANNERS if name in overhead]
    return overhead["search"] / min(peers) if peers and "search" in overhead else None


def large_table(record):
    rows = []
    for name, percent, overhead, search in large_rows(record):
        ratio = large_ratio(overhead)
        rows.append([f"{name.split()[0]}, {percent:.0f} %"] +
                    [f"{overhead[peer]:.2f}" if peer in overhead else "no plan" for peer in PEER_PLANNERS + ("search",)] +
                    [f"{search['bound_percent']:.2f}" if "bound_percent" in search else "",
                     f"{ratio:.2f}" if ratio else "", f"{search['peak_rss_mib']:.0f}"])
    return table(["", *PEER_PLANNERS, "search", "bound", "ratio", "MiB"], rows)


def machine_lines(run):
    compiler = re.sub(r" \(.*\)", "", run["compiler"])
    return (f"Commit {run['commit']}, {run['date']}. {run['cpus']} CPUs of {run['cpu']} ({run['isa']}), {run['system']},\n"
            f"{compiler}, {run['library'].replace('onednn', 'oneDNN')}, {run['threads']} threads, fp32. "
            "Programs take turns; figures are medians; a ratio compares figures of one run.")


def readme_table(records):
    """The rows at equal memory, and one row a kind of result; docs/results has all."""
    rows = []
    for part, model in (("peer20", "ResNet-20, batch 128"), ("peer18", "ResNet-18, batch 32")):
        record = records[part]
        results = record["results"] if record else {}
        for name in results:
            if name in PEER or (" at " not in name and part != "peer20"):
                continue
            ratio, against = ratio_row(results, name)
            peer = results[against]
            size = f"{mib(results[name]['peak_bytes'])} MiB"
            budget = "" if " at " in name else ", no budget"
            rows.append([f"{model}{budget}, {size}", f"{results[name]['images_per_second']:.0f} images/s",
                         f"{PEER[against]}, {mib(peer['peak_bytes'])} MiB: {peer['images_per_second']:.0f}",
                         f"{ratio:.2f} x", f"`tools/bench --torch PYTHON {part}`"])
    if records["overhead"]:
        compare = records["overhead"].get("compare", records["overhead"])
        capped = compare["capped"]
        rows.append(["ResNet-20 in half its bytes", f"{capped['overhead_measured_percent']:.1f} % slower than with all of them",
                     f"predicted {capped['overhead_percent']:.1f} %, at least {capped['bound_percent']:.1f} % proved, "
                     "where ops take their profiled times",
                     "weights equal" if compare["identical"] else "WEIGHTS DIFFER", "`tools/bench overhead`"])
    rows += planner_rows(records["planners"]) + large_summary(records["large"]) + packing_rows(records["packing"])[:1]
    return table(["what", "Plimsoll", "peer or bound", "ratio", "command"], rows)


def planner_rows(record):
    if not record:
        return []
    known = [row for row in record["rows"] if row["published_name"] and row["order"] == "free"]
    best = lambda row: min(each["overhead_percent"] for each in row["published"] if not each["over_budget"])
    compared = [row for row in known if any(not each["over_budget"] for each in row["published"])]
    digits = lambda figure: max(1, len(f"{figure:g}".partition(".")[2]))
    lower = sum(round(row.get("overhead_percent", 1e9), digits(best(row))) <= best(row) for row in compared)
    proved = sum(row.get("proved", False) for row in known)
    return [[f"plans for {len(known) // 3} published graphs at 90, 80 and 70 %, 10 s each",
             f"{proved} of {len(known)} proved optimal",
             f"not slower than the fastest published plan, rounded as it was published, in {lower} of the {len(compared)} cases that have one", "",
             "`tools/bench --data DIR planners`"]]


def large_summary(record):
    if not record:
        return []
    rows = [(overhead, search) for _, _, overhead, search in large_rows(record)]
    ratios = [ratio for ratio in (large_ratio(overhead) for overhead, _ in rows) if ratio]
    alone = sum("search" in overhead and len(overhead) == 1 for overhead, _ in rows)
    none = sum("search" not in overhead for overhead, _ in rows)
    return [["plans for 3 graphs of 10,000 ops at 90, 80, 70 and 50 %, 55 s each",
             f"a plan in {len(rows) - none} of {len(rows)}; {alone} of them no other planner solved",
             "the best plan of four published planners (sqrt, greedy, rotor, fastsa)",
             f"{min(ratios):.2f} to {max(ratios):.2f} x the overhead",
             "`tools/bench large`"]]


def packing_rows(record):
    if not record:
        return []
    rows = [row for row in record["published"]["rows"] if "minimalloc_milliseconds" in row]
    names = ", ".join(row["instance"].upper() for row in rows)
    made = record["made"]["rows"]
    return [[f"buffers of MiniMalloc's {names} packed under 1 MiB, one core",
             ", ".join(f"{row['milliseconds']:.0f}" for row in rows) + " ms",
             "published: " + ", ".join(str(row["minimalloc_milliseconds"]) for row in rows) + " ms", "",
             "`tools/bench --data DIR packing`"],
            [f"{min(row['buffers'] for row in made):,} to {max(row['buffers'] for row in made):,} buffers of made-up steps",
             f"{min(row['peak_percent'] for row in made):.1f} % of the most live bytes, or more",
             f"99 % in {sum(row['seconds_to_99_percent'] >= 0 for row in made)} of {len(made)}, within "
             f"{max(row['seconds_to_99_percent'] for row in made):.1f} s of one core", "",
             "`tools/bench --data DIR packing`"]]


def replace(path, tables):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, content in tables.items():
        marker = re.compile(rf"(<!-- bench {name} -->\n).*?(<!-- end -->)", re.S)
        if not marker.search(text):
            continue
        text = marker.sub(lambda found: found[1] + content + "\n" + found[2], text)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


MAKERS = {"peer20": peer_table, "peer18": peer_table, "paging": peer_table, "overhead": compare_table, "online": online_table,
          "addresses": address_table, "accuracy": accuracy_table, "ops": ops_table, "planners": planners_table,
          "packing": packing_table, "large": large_table}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", help="of the records")
    parser.add_argument("root", metavar="ROOT", help="of the project, whose documents are written")
    args = parser.parse_args()
    folder, root = args.folder, args.root
    run = load(folder, "run")
    if run is None:
        raise SystemExit(f"{folder}/run.json is missing: measure first, with tools/bench")
    records = {name: load(folder, name) for name in MAKERS}
    missing = [name for name, record in records.items() if record is None]
    tables = {name: make(records[name]) for name, make in MAKERS.items() if records[name]}
    tables["run"] = machine_lines(run)
    if records["packing"]:
        tables["lives"] = lives_table(records["packing"])
    for page in ("cpu", "planners", "large"):
        replace(os.path.join(root, f"docs/results/{page}.md"), tables)
    replace(os.path.join(root, "README.md"), {"results": readme_table(records), "run": tables["run"]})
    if missing:
        print("no record, text kept: " + ", ".join(missing), file=sys.stderr)


if __name__ == "__main__":
    main()
