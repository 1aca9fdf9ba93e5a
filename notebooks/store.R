# Prints the aging ratio of every condition in a store, and draws the figures of `senesce reproduce` and a forest plot of the ratios.
#
#     Rscript notebooks/store.R [senesce-work/senesce.db [DIRECTORY]]
#
# With DIRECTORY, each figure becomes a PDF and an SVG file there. Points are means over agings (seeds), bars their 95 % t intervals; costs and
# ratios have geometric means. Scans of one image are one value, their median; one aging has no interval.
# Needs DBI and RSQLite (Debian: r-cran-rsqlite). The store may be written to meanwhile.

library(DBI)

arguments <- commandArgs(trailingOnly = TRUE)
store <- if (length(arguments) > 0) arguments[1] else "senesce-work/senesce.db"
directory <- if (length(arguments) > 1) arguments[2] else NULL
if (!file.exists(store)) stop("result store ", store, " does not exist")
# Read-only.
db <- dbConnect(RSQLite::SQLite(), store, flags = RSQLite::SQLITE_RO)
layout <- dbGetQuery(db, "PRAGMA user_version")[[1]]
if (!layout %in% 1:2) stop(store, " has layout ", layout, "; this script knows 1 and 2")

# The mean over agings and its interval.
estimate <- function(values, geometric) {
  if (geometric) return(exp(estimate(log(values), FALSE)))
  n <- length(values)
  half <- if (n > 1) qt(0.975, n - 1) * sd(values) / sqrt(n) else NA
  c(mean = mean(values), low = mean(values) - half, high = mean(values) + half)
}

is_relative <- function(measure) grepl("(s_per_gib|ratio)$", measure)

# Texts of several columns in one, without empty ones.
joined <- function(columns) apply(columns, 1, function(row) paste(row[!is.na(row) & row != ""], collapse = " "))

# The columns in which rows differ.
varying <- function(rows, columns) columns[vapply(columns, function(name) length(unique(rows[[name]])) > 1, TRUE)]

# Comparisons: the measures of both sides, with the conditions of each.
compared <- dbGetQuery(db, "
  SELECT run.id AS run, run.name, coalesce(seed, '') AS seed, subject, measure, unit, value, tool,
    coalesce(json_extract(made, '$.fs'), run.name) AS fs,
    coalesce(json_extract(manifest, '$.legs[#-1].conditions.profile.name'), json_extract(manifest, '$.aged_by.workload.kind'), '') AS workload,
    json_extract(made, '$.mkfs_opts') AS mkfs_opts, json_extract(made, '$.mount_opts') AS mount_opts,
    json_extract(made, '$.size_bytes') / 1048576 || ' MiB' AS size,
    'fullness ' || json_extract(manifest, '$.legs[#-1].conditions.fullness') AS fullness,
    'overwrites ' || json_extract(manifest, '$.legs[#-1].conditions.overwrites') AS overwrites,
    json_extract(manifest, '$.fs_version') AS fs_version, json_extract(machine, '$.kernel') AS kernel,
    json_extract(parameters, '$.reader') AS reader,
    (SELECT json_extract(body, '$') FROM document WHERE document.run = run.id AND document.name = 'modelled_disk') AS disk
  FROM measurement JOIN run ON run.id = measurement.run
    LEFT JOIN (SELECT run AS of, body AS manifest, json_extract(body, '$.made') AS made FROM document WHERE name = 'manifest' AND subject = '')
      ON of = run.id
  WHERE kind = 'compare' AND state = 'done' AND subject IN ('aged', 'unaged')")
CONDITION <- c("mkfs_opts", "mount_opts", "size", "fullness", "overwrites", "disk", "reader", "fs_version", "kernel", "tool")
ratios <- NULL
if (nrow(compared) > 0) {
  compared$mkfs_opts <- gsub('[]["]', "", gsub(",", " ", compared$mkfs_opts))
  compared$mount_opts <- gsub('[]["]', "", compared$mount_opts)
  compared$condition <- joined(compared[c("fs", "workload", CONDITION)])
  # The last comparison of an aging counts.
  compared <- compared[compared$run == ave(compared$run, compared$condition, compared$seed, FUN = max), ]
  shown <- setdiff(varying(compared, CONDITION), if (length(unique(compared$fs)) > 1) "fs_version")
  compared$condition <- joined(compared[c("fs", "workload", shown)])
  by <- c("condition", "seed", "measure", "unit")
  sides <- aggregate(value ~ condition + seed + measure + unit + subject, compared, median)
  sides <- merge(sides[sides$subject == "aged", ], sides[sides$subject == "unaged", ], by = by, suffixes = c(".aged", ".unaged"))
  sides <- sides[sides$value.aged > 0 & sides$value.unaged > 0, ]
  sides$ratio <- sides$value.aged / sides$value.unaged
  ratios <- do.call(rbind, lapply(split(sides, sides[c("condition", "measure")], drop = TRUE), function(own) {
    data.frame(own[1, c("condition", "measure", "unit")], agings = nrow(own), aged = mean(own$value.aged), unaged = mean(own$value.unaged),
      ratio = estimate(own$ratio, TRUE)[["mean"]], low = estimate(own$ratio, TRUE)[["low"]], high = estimate(own$ratio, TRUE)[["high"]])
  }))
  cat("aged over unaged, by condition:\n")
  ratios <- ratios[order(ratios$condition, ratios$measure), ]
  values <- c("aged", "unaged", "ratio", "low", "high")
  ratios[values] <- lapply(ratios[values], formatC, digits = 4, format = "g")
  options(width = 200)
  print(ratios, row.names = FALSE)
}

# Figures: the last complete run of each at each scale. Its outcome holds all checkpoints, and the plots of the figure.
figures <- dbGetQuery(db, "
  SELECT max(run.id) AS run, run.name AS figure, json_extract(parameters, '$.scale') AS scale
  FROM run JOIN document ON document.run = run.id AND document.name = 'outcome'
  WHERE kind = 'experiment' AND state = 'done' GROUP BY run.name, scale")
outcome <- function(columns, list, run) {
  from <- "FROM document, json_each(body, ?) AS each WHERE run = ? AND document.name = 'outcome'"
  quoted <- gsub(".", '"."', columns, fixed = TRUE)
  paths <- sprintf("json_extract(each.value, '$.\"%s\"') AS \"%s\"", quoted, sub(".*[.]", "", columns))
  dbGetQuery(db, paste("SELECT", paste(paths, collapse = ", "), from), params = list(paste0("$.", list), run))
}
if (nrow(compared) + nrow(figures) == 0) stop(store, " holds no complete comparison or figure; `senesce compare` and `senesce reproduce` make them")
if (is.null(directory)) {
  if (nrow(figures) > 0) cat("figures (name a directory to draw them):", paste(figures$figure, figures$scale), sep = "\n  ")
  quit()
}
dir.create(directory, showWarnings = FALSE, recursive = TRUE)

# Draws once as PDF and once as SVG.
both <- function(name, width, height, draw) {
  file <- file.path(directory, gsub("[^A-Za-z0-9._-]+", "-", name))
  pdf(paste0(file, ".pdf"), width, height); draw(); dev.off()
  svg(paste0(file, ".svg"), width, height); draw(); dev.off()
  cat(file, ".pdf, .svg\n", sep = "")
}

# The power of 1024 that suits a number of bytes, and a label with it.
power <- function(value) max(0, min(4, floor(log(max(value, 1), 1024))))
PREFIXES <- c("", "Ki", "Mi", "Gi", "Ti")
in_bytes <- function(values) vapply(values, function(v) paste0(signif(v / 1024^power(v), 3), " ", PREFIXES[power(v) + 1], "B"), "")

# A panel: `rows` are checkpoints with the line each belongs to. `x` and `y` are axes: label, unit, log.
panel <- function(rows, title, x, y, lines) {
  keys <- unique(rows[c("line", "round", "measure")])
  points <- cbind(keys, t(mapply(function(line, round, measure) {
    estimate(rows$value[rows$line == line & rows$round == round & rows$measure == measure], is_relative(measure))
  }, keys$line, keys$round, keys$measure)))
  label <- y$label
  if (y$unit %in% c("bytes", "B", "B/s")) {
    prefix <- power(max(points$mean))
    points[c("mean", "low", "high")] <- points[c("mean", "low", "high")] / 1024^prefix
    label <- paste0(label, " (", PREFIXES[prefix + 1], "B", if (y$unit == "B/s") "/s", ")")
  } else if (y$unit != "") label <- paste0(label, " (", y$unit, ")")
  heights <- range(points$mean, points$low, points$high, na.rm = TRUE)
  # Heights begin at 0, except those of scores, which differ little, and of logarithms.
  if (y$unit != "" && !y$log) heights <- range(0, heights)
  if (heights[1] < 0 && min(points$mean) >= 0) heights[1] <- 0
  bytes <- x$unit %in% c("bytes", "B")
  name <- if (bytes || x$unit == "") x$label else paste0(x$label, " (", x$unit, ")")
  plot(NA, xlim = range(points$round), ylim = heights, xlab = name, ylab = label, main = title,
    log = paste0("", if (x$log) "x", if (y$log) "y"), xaxt = if (bytes) "n" else "s", las = 1)
  if (bytes) {
    ends <- range(points$round)
    ticks <- if (x$log) 2^seq(ceiling(log2(ends[1])), floor(log2(ends[2])), by = 2) else pretty(ends)
    axis(1, ticks, in_bytes(ticks))
  }
  for (i in seq_along(lines)) {
    own <- points[points$line == lines[i], ]
    own <- own[order(own$round), ]
    style <- COLOURS[(i - 1) %% length(COLOURS) + 1]
    lines(own$round, own$mean, type = "o", col = style, pch = i, lty = (i - 1) %/% length(COLOURS) + 1)
    bars <- own[!is.na(own$low) & own$high > own$low, ]
    segments(bars$round, pmax(bars$low, heights[1]), bars$round, bars$high, col = style)
  }
}
# Without yellow, which is too light for lines.
COLOURS <- palette.colors(8, "Okabe-Ito")[-5]

# Ratios: the agings as points, their mean and its interval. `rows` are condition and ratio.
forest <- function(rows, title) {
  conditions <- rev(unique(rows$condition))
  means <- t(vapply(conditions, function(c) estimate(rows$ratio[rows$condition == c], TRUE), numeric(3)))
  par(mar = c(4.5, 1 + 0.45 * max(nchar(conditions)), 2.5, 1))
  plot(NA, xlim = range(1, rows$ratio, means, na.rm = TRUE), ylim = c(0.5, length(conditions) + 0.5), yaxt = "n", log = "x",
    xlab = "cost, aged over unaged", ylab = "", main = title)
  abline(v = 1, lty = 2)
  axis(2, seq_along(conditions), conditions, las = 1, tick = FALSE, cex.axis = 0.8)
  points(rows$ratio, match(rows$condition, conditions) - 0.25, col = "grey50", cex = 0.7)
  segments(means[, 2], seq_along(conditions), means[, 3], seq_along(conditions))
  points(means[, 1], seq_along(conditions), pch = 15)
}
draw_forest <- function(rows, name) {
  both(paste0(name, "-forest"), 8, 1.6 + 0.4 * length(unique(rows$condition)), function() forest(rows, name))
}

for (i in seq_len(nrow(figures))) {
  run <- figures$run[i]
  name <- paste(figures$figure[i], figures$scale[i])
  plots <- outcome(c("title", "y", "axis.label", "axis.unit", "axis.log", "panels", "sides"), "plots", run)
  x <- dbGetQuery(db, "SELECT json_extract(body, '$.round.label') AS label, coalesce(json_extract(body, '$.round.unit'), '') AS unit,
    json_extract(body, '$.round.log') AS log FROM document WHERE run = ? AND name = 'outcome'", params = list(run))
  # Plots of one letter and axis share a panel: "5A: read" and "5A: write".
  lettered <- grepl("^[0-9]+[A-Za-z]?: ", plots$title)
  plots$letter <- ifelse(lettered, sub(":.*", "", plots$title), plots$title)
  panels <- list()
  for (group in unique(paste(plots$letter, plots$label))) {
    own <- plots[paste(plots$letter, plots$label) == group, ]
    rows <- do.call(rbind, lapply(seq_len(nrow(own)), function(at) {
      of <- outcome(c("fs", "disk", "option", "seed", "round", "side", own$y[at]), "checkpoints", run)
      names(of)[7] <- "value"
      of <- of[!is.na(of$value) & (is.na(own$sides[at]) | vapply(sprintf('"%s"', of$side), grepl, TRUE, own$sides[at], fixed = TRUE)), ]
      if (nrow(of) == 0) return(NULL)
      # What does not depend on the disk is there once for each.
      if (all(aggregate(value ~ fs + option + seed + round + side, of, function(v) diff(range(v)))$value == 0)) of$disk <- ""
      of <- unique(of)
      cbind(of, measure = own$y[at], plot = if (nrow(own) > 1) sub("^[^:]*: ", "", own$title[at]) else "")
    }))
    if (is.null(rows)) next
    across <- if (own$panels[1] == "fs") "fs" else "disk"
    title <- if (nrow(own) > 1) own$letter[1] else own$title[1]
    for (key in unique(rows[[across]])) {
      part <- rows[rows[[across]] == key, ]
      panels <- c(panels, list(list(rows = part, title = if (length(unique(rows[[across]])) > 1) paste0(title, ", ", key) else title,
        x = x, y = own[1, c("label", "unit", "log")])))
    }
  }
  if (length(panels) == 0) next
  named <- varying(do.call(rbind, lapply(panels, `[[`, "rows")), c("plot", "fs", "option", "side"))
  panels <- lapply(panels, function(one) {
    one$rows$line <- if (length(named) > 0) joined(one$rows[named]) else ""
    one
  })
  lines <- unique(unlist(lapply(panels, function(one) one$rows$line)))
  # The panels, then the names of the lines.
  wide <- min(4, length(panels) + 1)
  high <- ceiling((length(panels) + 1) / wide)
  both(name, 4.2 * wide, 3.6 * high, function() {
    par(mfrow = c(high, wide), mar = c(4.5, 4.5, 2.5, 1))
    for (one in panels) panel(one$rows, one$title, one$x, one$y, lines)
    plot.new()
    at <- which(lines != "")
    if (length(at) > 0) legend("left", lines[at], col = COLOURS[(at - 1) %% length(COLOURS) + 1], pch = at, lty = (at - 1) %/% length(COLOURS) + 1, bty = "n", title = name)
  })
  pairs <- outcome(c("fs", "disk", "option", "seed", "round", "aging_ratio"), "pairs", run)
  pairs <- pairs[!is.na(pairs$aging_ratio) & pairs$aging_ratio > 0, ]
  if (nrow(pairs) > 0) {
    pairs <- pairs[pairs$round == max(pairs$round), ]
    draw_forest(data.frame(condition = joined(pairs[c("fs", "option", "disk")]), ratio = pairs$aging_ratio), name)
  }
}
if (!is.null(ratios)) {
  modelled <- sides[sides$measure == "modelled_s_per_gib", ]
  if (nrow(modelled) == 0) modelled <- sides[sides$measure == "scan_s_per_gib", ]
  if (nrow(modelled) > 0) draw_forest(modelled, "compare")
}
dbDisconnect(db)
