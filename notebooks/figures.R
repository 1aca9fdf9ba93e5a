# Draws the figures of a store as PDF and SVG: cost by round and, for comparisons and last rounds, a forest plot of conditions.
#
#     Rscript notebooks/figures.R [senesce-work/senesce.db [DIRECTORY]]
#
# Needs DBI and RSQLite (Debian: r-cran-rsqlite). Points are means over agings (seeds), bars 95 % t intervals over agings;
# scans of one image are averaged. With one aging there is no interval.

library(DBI)

arguments <- commandArgs(trailingOnly = TRUE)
store <- if (length(arguments) > 0) arguments[1] else "senesce-work/senesce.db"
directory <- if (length(arguments) > 1) arguments[2] else "."
if (!file.exists(store)) stop("result store ", store, " does not exist")
dir.create(directory, showWarnings = FALSE, recursive = TRUE)
db <- dbConnect(RSQLite::SQLite(), store, flags = RSQLite::SQLITE_RO)
layout <- dbGetQuery(db, "PRAGMA user_version")[[1]]
if (!layout %in% 1:2) stop(store, " has layout ", layout, "; this script knows 1 and 2")

# Modelled costs: the name of the disk is behind "on" where there are several.
numbers <- dbGetQuery(db, "
  SELECT run.kind, run.name, run.seed, run.id AS run, subject, measure, value,
    coalesce(json_extract(parameters, '$.figure'), '') AS figure,
    coalesce(json_extract(parameters, '$.scale'), '') AS scale,
    coalesce(json_extract(parameters, '$.fs'), run.name) AS fs,
    coalesce(json_extract(parameters, '$.option.name'), '') AS option,
    json_extract(parameters, '$.round') AS round
  FROM measurement JOIN run ON run.id = measurement.run
  WHERE state = 'done' AND kind IN ('checkpoint', 'compare')
    AND (measure LIKE 'modelled_s_per_gib%' OR (kind = 'checkpoint' AND measure = 'dynamic_layout_score') OR (kind = 'compare' AND measure = 'scan_s_per_gib'))")
dbDisconnect(db)
if (nrow(numbers) == 0) stop(store, " holds no costs of `reproduce` or `compare`")

numbers$disk <- ifelse(grepl(" on ", numbers$measure), sub("^.* on ", "", numbers$measure), "")
numbers$measure <- sub(" on .*$", "", numbers$measure)
numbers$seed[is.na(numbers$seed)] <- ""
numbers$condition <- trimws(paste(numbers$fs, numbers$option))
numbers$round <- as.numeric(numbers$round)

# Mean and 95 % t interval over agings; no interval for one.
interval <- function(values) {
  n <- length(values)
  half <- if (n > 1) qt(0.975, n - 1) * sd(values) / sqrt(n) else NA
  c(mean = mean(values), low = mean(values) - half, high = mean(values) + half)
}

# Draws once as PDF and once as SVG.
both <- function(name, width, height, draw) {
  file <- file.path(directory, gsub("[^A-Za-z0-9._-]+", "-", name))
  pdf(paste0(file, ".pdf"), width, height); draw(); dev.off()
  svg(paste0(file, ".svg"), width, height); draw(); dev.off()
  cat(file, ".pdf, .svg\n", sep = "")
}

by_round <- function(rows, title, label) {
  conditions <- unique(rows[c("condition", "subject")])
  lines <- lapply(seq_len(nrow(conditions)), function(i) {
    own <- rows[rows$condition == conditions$condition[i] & rows$subject == conditions$subject[i], ]
    rounds <- sort(unique(own$round))
    data.frame(round = rounds, t(sapply(rounds, function(r) interval(own$value[own$round == r]))))
  })
  all <- do.call(rbind, lines)
  top <- max(all$mean, all$high, na.rm = TRUE)
  plot(NA, xlim = range(all$round), ylim = c(0, top * 1.25), xlab = "round", ylab = label, main = title)
  for (i in seq_along(lines)) with(lines[[i]], {
    lines(round, mean, type = "o", col = i, pch = i)
    seen <- !is.na(low) & high > low
    if (any(seen)) arrows(round[seen], low[seen], round[seen], high[seen], 0.03, 90, 3, col = i)
  })
  legend("topleft", trimws(paste(conditions$condition, conditions$subject)), col = seq_along(lines),
    pch = seq_along(lines), lty = 1, bty = "n", cex = 0.7, ncol = 2)
}

# Ratio to the unaged side of the same aging, one point each.
forest <- function(ratios, title) {
  conditions <- rev(unique(ratios$label))
  par(mar = c(4, 14, 2, 1))
  means <- t(sapply(conditions, function(c) interval(ratios$ratio[ratios$label == c])))
  plot(NA, xlim = range(1, ratios$ratio, means, na.rm = TRUE), ylim = c(0.5, length(conditions) + 0.5), yaxt = "n",
    xlab = "cost aged / unaged", ylab = "", main = title)
  abline(v = 1, lty = 2)
  axis(2, seq_along(conditions), conditions, las = 1, cex.axis = 0.7)
  points(ratios$ratio, match(ratios$label, conditions) - 0.2, col = "grey50", cex = 0.6)
  points(means[, "mean"], seq_along(conditions), pch = 15)
  segments(means[, "low"], seq_along(conditions), means[, "high"], seq_along(conditions))
}

sides <- function(rows) {
  keys <- c("label", "seed", "run")
  one <- aggregate(value ~ label + seed + run + subject, rows, mean)
  merged <- merge(one[one$subject == "aged", ], one[one$subject == "unaged", ], by = keys, suffixes = c(".aged", ".unaged"))
  merged$ratio <- merged$value.aged / merged$value.unaged
  merged
}

checkpoints <- numbers[numbers$kind == "checkpoint", ]
for (name in unique(paste(checkpoints$figure, checkpoints$scale))) {
  own <- checkpoints[paste(checkpoints$figure, checkpoints$scale) == name, ]
  # A checkpoint that was measured again replaces the earlier one.
  place <- paste(own$condition, own$round, own$seed, own$disk, own$subject, own$measure)
  own <- own[own$run == ave(own$run, place, FUN = max), ]
  own <- aggregate(value ~ condition + round + seed + disk + subject + run + measure, own, mean)
  score <- own[own$measure == "dynamic_layout_score", ]
  own <- own[own$measure == "modelled_s_per_gib", ]
  if (nrow(own) == 0) next
  disks <- unique(own$disk)
  # The cost on each disk, and the score beside it (Conway et al. 2017, Figure 5).
  panels <- length(disks) + (nrow(score) > 0)
  both(paste0(name, "-cost"), 5 * panels, 4, function() {
    par(mfrow = c(1, panels))
    for (disk in disks) by_round(own[own$disk == disk, ], trimws(paste(name, disk)), "cost (s/GiB)")
    if (nrow(score) > 0) by_round(score, name, "dynamic layout score")
  })
  last <- own[own$round == max(own$round), ]
  last$label <- trimws(paste(last$condition, last$disk))
  ratios <- sides(last)
  if (nrow(ratios) > 0) both(paste0(name, "-forest"), 7, 1.8 + 0.35 * length(unique(ratios$label)), function() forest(ratios, name))
}

# Comparisons of one name and seed are of one image: the last one counts, as one aging.
compared <- numbers[numbers$kind == "compare", ]
if (nrow(compared) > 0) {
  image <- paste(compared$name, compared$seed)
  compared <- compared[compared$run == ave(compared$run, image, FUN = max), ]
  compared$label <- trimws(paste(compared$name, compared$measure, compared$disk))
  ratios <- sides(compared)
  if (nrow(ratios) > 0) both("compare-forest", 7, 1.8 + 0.35 * length(unique(ratios$label)), function() forest(ratios, "comparisons"))
}
