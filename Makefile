# spanscope: `make` builds build/release/spanscope; `make help` lists the targets.

MODE ?= release
V ?= 0
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
BUILD := build/$(MODE)
ifeq ($(MODE),fuzz)
CC := clang
endif

PACKAGES := libdw libelf jansson libprotobuf-c zlib libarchive sqlite3 yaml-0.1
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla \
	-Wformat=2 -Wimplicit-fallthrough -Wpointer-arith -Wwrite-strings
CPPFLAGS += -D_GNU_SOURCE -Isrc -Ibuild/gen -include src/base/poison.h
CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
CFLAGS_debug := -O0 -g
CFLAGS_asan := -O1 -g -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
LDFLAGS_asan := -fsanitize=address,undefined
CFLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow \
	-fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-format-nonliteral \
	-Wno-missing-field-initializers
LDFLAGS_fuzz := -fsanitize=address,undefined,float-cast-overflow
ALL_CFLAGS := -std=gnu11 $(WARNINGS) -fno-strict-aliasing $(CFLAGS_$(MODE)) $(CFLAGS)
ifneq ($(WERROR)$(CI),)
ALL_CFLAGS += -Werror
endif

# pkg-config is asked once, and not for `make clean` or `make help`.
ifneq ($(filter-out clean help,$(or $(MAKECMDGOALS),all)),)
LIB_CFLAGS := $(shell pkg-config --cflags $(PACKAGES))
LIBS := $(shell pkg-config --libs $(PACKAGES)) -lm
endif

SOURCES := $(wildcard src/*/*.c)
PROTO := build/gen/profile.pb-c
LIB_OBJECTS := $(BUILD)/gen/profile.pb-c.o  $(patsubst src/%.c,$(BUILD)/%.o,$(filter-out src/cli/main.c,$(SOURCES)))
MAIN_OBJECT := $(BUILD)/cli/main.o
UNIT_SOURCES := $(wildcard tests/unit/*.c)
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(UNIT_SOURCES))
SUPPORT_OBJECTS := $(patsubst tests/support/%.c,$(BUILD)/tests/support/%.o,$(wildcard tests/support/*.c))
# What damages cores, without cmocka.
DAMAGE_OBJECTS := $(patsubst %,$(BUILD)/tests/support/%.o,memfile shipped)
TORTURE_OBJECTS := $(BUILD)/tests/torture/cli_main.o \
	$(patsubst tests/torture/%.c,$(BUILD)/tests/torture/%.o,$(wildcard tests/torture/*.c))
FUZZ_TARGETS := $(filter-out entry replay,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))

ifeq ($(V),0)
say = @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,printf '  %-6s %s\n' $(1) $(2));
Q := @
else
say =
Q :=
endif

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all test unit golden golden-update live servers torture failpoints fuzz fuzz-replay layouts layouts-check lint format install deb clean help

all: $(BUILD)/spanscope

$(BUILD)/spanscope: $(MAIN_OBJECT) $(BUILD)/libspanscope.a
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libspanscope.a: $(LIB_OBJECTS)
	$(call say,AR,$@)rm -f $@; ar rcs $@ $^

# pprof's format: the reader and writer come from its schema.
$(PROTO).c $(PROTO).h &: src/out/profile.proto | build/.gitignore
	@mkdir -p $(@D)
	$(call say,PROTO,$<)protoc-c --c_out=build/gen --proto_path=src/out $<

$(BUILD)/gen/%.o: build/gen/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(LIB_CFLAGS) $(ALL_CFLAGS) -w -c -o $@ $<

$(BUILD)/out/pprof.o: $(PROTO).h

$(BUILD)/%.o: src/%.c | build/.gitignore
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(LIB_CFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%.o: tests/%.c | build/.gitignore
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) -Itests $(LIB_CFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(SUPPORT_OBJECTS) $(BUILD)/libspanscope.a
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

# Without sanitizers: they forbid cores to whatever is started.
$(BUILD)/tests/exitwatch: tests/live/exitwatch.c | build/.gitignore
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(ALL_CFLAGS)) $(LDFLAGS) -o $@ $<

# For the program as it is shipped: sanitizers have a malloc of their own.
$(BUILD)/tests/failmalloc.so: tests/failmalloc.c | build/.gitignore
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -fPIC -shared -o $@ $<

# main() of the program as a function, so that it can be called thousands of times.
$(BUILD)/tests/torture/cli_main.o: src/cli/main.c | build/.gitignore
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(LIB_CFLAGS) $(ALL_CFLAGS) -Dmain=spanscope_main \
		-Wno-missing-prototypes -MMD -MP -c -o $@ $<

$(BUILD)/torture: $(TORTURE_OBJECTS) $(DAMAGE_OBJECTS) $(BUILD)/libspanscope.a
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -pthread -o $@ $^ $(LIBS)

$(BUILD)/fuzz-%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/entry.o $(DAMAGE_OBJECTS) $(BUILD)/libspanscope.a
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/replay-%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay.o $(DAMAGE_OBJECTS) $(BUILD)/libspanscope.a
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -o $@ $^ $(LIBS)

# Everything below build/ is made: the folder hides itself from git.
build/.gitignore:
	@mkdir -p build
	@echo '*' >$@

test: ## all tests (scripts/test installs what they need first)
	scripts/test

unit: $(UNIT_TESTS) ## unit tests on synthetic cores
	$(Q)scripts/unpack-testdata build/testdata
	$(Q)SPANSCOPE_TESTDATA=build/testdata scripts/run-units $(UNIT_TESTS)

golden: $(BUILD)/spanscope ## goldens on the shipped cores
	$(Q)tests/golden/run $(BUILD)/spanscope

golden-update: $(BUILD)/spanscope ## write what comes out into the goldens
	$(Q)tests/golden/run --update $(BUILD)/spanscope

live: $(BUILD)/spanscope $(BUILD)/tests/exitwatch ## live Go programs, every release
	$(Q)status=0; for test in "live $(LIVE_ARGS)" "verdicts $(VERDICTS_ARGS)" "kinds $(KINDS_ARGS)"; do \
		set -- $$test; name=$$1; shift; \
		scripts/with-core-pattern tests/live/$$name.py --spanscope $(BUILD)/spanscope \
			--exitwatch $(BUILD)/tests/exitwatch --results $(BUILD)/results/$$name.jsonl \
			"$$@" || status=1; \
	done; \
	scripts/with-core-pattern tests/live/store.py --spanscope $(BUILD)/spanscope $(STORE_ARGS) || \
		status=1; \
	exit $$status

servers: $(BUILD)/spanscope $(BUILD)/tests/exitwatch ## Debian's servers and npm's esbuild, fetched once
	$(Q)scripts/fetch-servers
	$(Q)scripts/with-core-pattern tests/live/servers.py --spanscope $(BUILD)/spanscope \
		--exitwatch $(BUILD)/tests/exitwatch --results $(BUILD)/results/servers.jsonl $(SERVERS_ARGS)

torture: $(BUILD)/torture ## damage the shipped cores 100,000 times (best with MODE=asan)
	$(Q)scripts/unpack-testdata build/testdata
	$(Q)$(BUILD)/torture --jobs $$(nproc) $(TORTURE_ARGS) build/testdata

failpoints: $(BUILD)/spanscope $(BUILD)/tests/failmalloc.so ## too little memory, at every point
	$(Q)scripts/unpack-testdata build/testdata
	$(Q)tests/failpoints $^ build/testdata/fragmented-go1.26/core

fuzz: $(FUZZ_TARGETS:%=$(BUILD)/fuzz-%) ## fuzz targets, with MODE=fuzz; FUZZ_SECONDS=N runs each
	$(Q)scripts/unpack-testdata build/testdata
	$(Q)[ -z "$(FUZZ_SECONDS)" ] || tests/fuzz/run $(BUILD) $(FUZZ_SECONDS)

fuzz-replay: $(FUZZ_TARGETS:%=$(BUILD)/replay-%) ## known inputs through the fuzz targets
	$(Q)scripts/unpack-testdata build/testdata
	$(Q)tests/fuzz/replay-all $(BUILD)

$(BUILD)/gen-layouts: scripts/gen-layouts.c $(BUILD)/libspanscope.a
	$(call say,LINK,$@)$(CC) $(CPPFLAGS) $(LIB_CFLAGS) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -o $@ $^ $(LIBS)

bench: $(BUILD)/spanscope ## time and memory on cores of up to 64 GiB (10 GB of disk, kept in the cache)
	$(Q)scripts/with-core-pattern tests/bench/bench.py --spanscope $(BUILD)/spanscope

layouts: $(BUILD)/gen-layouts ## make the built-in layouts anew from the toolchains
	$(Q)scripts/gen-layouts $(BUILD)

layouts-check: $(BUILD)/gen-layouts ## compare the built-in layouts with the toolchains
	$(Q)scripts/gen-layouts $(BUILD) --check

lint: ## format, layers, docs, clang-tidy, cppcheck, shellcheck
	$(Q)scripts/lint

format: ## reformat all C files
	$(Q)clang-format --style=file:scripts/clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

install: $(BUILD)/spanscope ## install below PREFIX (/usr/local)
	install -D -m 755 $(BUILD)/spanscope $(DESTDIR)$(PREFIX)/bin/spanscope
	install -D -m 755 scripts/spanscope-sidecar $(DESTDIR)$(PREFIX)/bin/spanscope-sidecar
	install -D -m 644 src/cli/spanscope.1 $(DESTDIR)$(PREFIX)/share/man/man1/spanscope.1
	ln -sf spanscope.1 $(DESTDIR)$(PREFIX)/share/man/man1/spanscope-sidecar.1
	install -d $(DESTDIR)$(PREFIX)/share/spanscope/schema
	install -m 644 src/schema/*.json $(DESTDIR)$(PREFIX)/share/spanscope/schema
	install -d $(DESTDIR)$(PREFIX)/share/spanscope/rules
	install -m 644 src/rules/*.yaml $(DESTDIR)$(PREFIX)/share/spanscope/rules
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	scripts/gen-completion >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/spanscope
	chmod 644 $(DESTDIR)$(PREFIX)/share/bash-completion/completions/spanscope

deb: ## a Debian package below build/deb
	scripts/make-deb

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
