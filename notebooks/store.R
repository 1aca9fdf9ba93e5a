# Reads the store and prints, of the last complete comparison of each name, the medians of both sides and their ratio.
#
#     Rscript notebooks/store.R [senesce-work/senesce.db]
#
# Needs DBI and RSQLite (Debian: r-cran-rsqlite). The store may be written to meanwhile.

library(DBI)

arguments <- commandArgs(trailingOnly = TRUE)
store <- if (length(arguments) > 0) arguments[1] else "senesce-work/senesce.db"
if (!file.exists(store)) stop("result store ", store, " does not exist")
# Read-only.
db <- dbConnect(RSQLite::SQLite(), store, flags = RSQLite::SQLITE_RO)
layout <- dbGetQuery(db, "PRAGMA user_version")[[1]]
if (!layout %in% 1:2) stop(store, " has layout ", layout, "; this script knows 1 and 2")

numbers <- dbGetQuery(db, "
  SELECT run.name, measure, unit, subject, repetition, value
  FROM measurement JOIN run ON run.id = measurement.run
  WHERE run.id IN (SELECT max(id) FROM run WHERE kind = 'compare' AND state = 'done' GROUP BY name)
    AND subject IN ('aged', 'unaged')")
dbDisconnect(db)
if (nrow(numbers) == 0) stop(store, " holds no complete comparison; `senesce compare` makes one")

medians <- aggregate(value ~ name + measure + unit + subject, numbers, median)
sides <- merge(
  subset(medians, subject == "aged", -subject), subset(medians, subject == "unaged", -subject),
  by = c("name", "measure", "unit"), suffixes = c(".aged", ".unaged")
)
sides$ratio <- sides$value.aged / sides$value.unaged
print(sides, row.names = FALSE, digits = 4)

# Whether the costs of cold scans differ: the rank-sum test, as the live page has it.
for (name in unique(numbers$name)) {
  cost <- numbers[numbers$name == name & numbers$measure == "scan_s_per_gib", ]
  aged <- cost$value[cost$subject == "aged"]
  unaged <- cost$value[cost$subject == "unaged"]
  if (length(aged) >= 4 && length(unaged) >= 4) {
    cat(name, ": p =", format(wilcox.test(aged, unaged, exact = TRUE)$p.value, digits = 4), "\n")
  }
}
