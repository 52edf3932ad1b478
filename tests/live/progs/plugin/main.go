// plugin loads a plugin, a second module with text, data and garbage-collected variables.
package main

import (
	"os"
	"path/filepath"
	"plugin"

	"spanscope.test/progs/truth"
)

func main() {
	truth.Start()
	exe, err := os.Executable()
	check(err)
	module, err := plugin.Open(filepath.Join(filepath.Dir(exe), "module.so"))
	check(err)
	plant, err := module.Lookup("Plant")
	check(err)
	data, bss := plant.(func() (int, int))()
	truth.Note("module_data_bytes", data)
	truth.Note("module_bss_bytes", bss)
	wait, err := module.Lookup("Wait")
	check(err)
	started := make(chan int)
	go wait.(func(chan int))(started)
	<-started
	truth.Freeze()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
